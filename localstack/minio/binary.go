package minio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"tidemark/shared/fault"
)

// The module that the server is built from. MinIO publishes no module versions: this is a commit, which go's checksum
// database knows.
const (
	module  = "github.com/minio/minio"
	version = "v0.0.0-20260212201848-7aac2a2c5b7c"
	program = "minio"
)

// findBinary gives the server's program: the one that is named, of the cache, or built now.
func findBinary(ctx context.Context, named string) (string, error) {
	if named != "" {
		if _, err := exec.LookPath(named); err != nil {
			return "", noBinary("run the named program: %w", err)
		}
		return named, nil
	}
	userCache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for programs: %w", err)
	}
	return installBinary(ctx, "go", filepath.Join(userCache, "tidemark", "bin"))
}

// installBinary builds the program into a folder of the cache that is named after its version. The folder appears by a
// rename, whole; of several processes that build at once the first one wins.
func installBinary(ctx context.Context, compiler, cacheDir string) (_ string, err error) {
	installed := filepath.Join(cacheDir, program+"-"+version)
	binary := filepath.Join(installed, program)
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	if err := os.MkdirAll(cacheDir, 0o755); err != nil { //nolint:gosec // programs that every account may run
		return "", fmt.Errorf("make a place for programs: %w", err)
	}
	draft, err := os.MkdirTemp(cacheDir, filepath.Base(installed)+".")
	if err != nil {
		return "", fmt.Errorf("make a place for programs: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(draft)) }()
	cmd := exec.CommandContext(ctx, compiler, "install", module+"@"+version)
	built := filepath.Join(draft, "bin") // made by go, for every account to enter
	cmd.Env = append(cmd.Environ(), "GOBIN="+built)
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", noBinary("build it: %w: %s", err, tail(output))
	}
	if err := os.Rename(built, installed); err != nil {
		if _, other := os.Stat(binary); other != nil {
			return "", fmt.Errorf("keep the program: %w", err)
		}
	}
	return binary, nil
}

func noBinary(format string, args ...any) error {
	return fault.New(fault.Misconfigured, "no MinIO server: "+format, args...).WithHint("do one of three: " +
		"(1) name a server that is up, as Endpoint; (2) name its program, as Binary; " +
		"(3) let go reach a module proxy, from which it builds " + module + " once, in some minutes")
}
