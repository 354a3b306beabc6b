package aws

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// install gives the interpreter of the folder that holds the program's packages, installing them if there is none. The
// folder's name says what is in it, so a change of the list needs no clean-up. It appears by a rename, whole; of several
// processes that install at once the first one wins.
func (p program) install(ctx context.Context, options Options) (_ string, err error) {
	cacheDir, err := cacheDir(options)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(setupPackages + p.packages))
	installed := filepath.Join(cacheDir, "python-"+hex.EncodeToString(sum[:8]))
	python := filepath.Join(installed, "bin", "python")
	if _, err := os.Stat(python); err == nil { // follows the link: a folder whose interpreter has gone is none
		return python, nil
	}
	found, err := p.findPython(ctx, options.Python)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cacheDir, 0o755); err != nil { //nolint:gosec // programs that every account may run
		return "", fmt.Errorf("make a place for %s: %w", p.name, err)
	}
	draft, err := os.MkdirTemp(cacheDir, filepath.Base(installed)+".")
	if err != nil {
		return "", fmt.Errorf("make a place for %s: %w", p.name, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(draft)) }()
	filled := filepath.Join(draft, "python") // made by venv, for every account to enter
	if err := p.fill(ctx, found, filled); err != nil {
		return "", err
	}
	return python, keep(filled, installed, python)
}

// keep gives the draft its name, unless somebody else was first. A folder of that name without an interpreter is what is
// left of one whose Python was removed.
func keep(draft, installed, python string) error {
	if _, err := os.Stat(python); err == nil {
		return nil
	}
	if err := os.RemoveAll(installed); err != nil {
		return fmt.Errorf("remove what is left of an installation: %w", err)
	}
	if err := os.Rename(draft, installed); err != nil {
		if _, other := os.Stat(python); other != nil {
			return fmt.Errorf("keep an installation: %w", err)
		}
	}
	return nil
}

func cacheDir(options Options) (string, error) {
	if options.CacheDir != "" {
		return options.CacheDir, nil
	}
	userCache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for what is installed: %w", err)
	}
	return filepath.Join(userCache, "tidemark"), nil
}

// fill makes a virtual environment in dir and installs the packages into it. Some are published as sources only: what
// builds them is pinned too, and pip is kept from fetching another one.
func (p program) fill(ctx context.Context, python, dir string) error {
	if err := p.run(exec.CommandContext(ctx, python, "-m", "venv", dir)); err != nil { //nolint:gosec // the interpreter that was found
		return err
	}
	for _, packages := range []string{setupPackages, p.packages} {
		//nolint:gosec // the interpreter of the folder made here
		pip := exec.CommandContext(ctx, filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet",
			"--disable-pip-version-check", "--require-hashes", "--no-build-isolation", "--requirement", "/dev/stdin")
		pip.Stdin = strings.NewReader(packages)
		if err := p.run(pip); err != nil {
			return err
		}
	}
	return nil
}

func (p program) run(cmd *exec.Cmd) error {
	if output, err := cmd.CombinedOutput(); err != nil {
		return p.noProgram("install its packages: %w: %s", err, tail(output))
	}
	return nil
}

const tailBytes = 1200

// tail is the end of a program's output, for an error message.
func tail(output []byte) string {
	return strings.TrimSpace(string(output[max(0, len(output)-tailBytes):]))
}
