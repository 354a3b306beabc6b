package aws

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// findPython gives an interpreter that is new enough: the one that is named, else the first of the usual ones.
func (p program) findPython(ctx context.Context, named string) (string, error) {
	candidates := []string{named}
	if named == "" {
		candidates = usualPythons()
	}
	err := errors.New("neither PATH nor pyenv has a Python 3")
	for _, candidate := range candidates {
		var found string
		if found, err = p.usable(ctx, candidate); err == nil {
			return found, nil
		}
	}
	return "", p.noProgram("needs Python 3.%d or later: %w", p.oldest, err)
}

// usualPythons are those of PATH, then those of pyenv, whose programs in PATH run only the version that somebody chose.
func usualPythons() []string {
	var found []string
	for _, name := range []string{"python3.13", "python3.12", "python3"} {
		if python, err := exec.LookPath(name); err == nil {
			found = append(found, python)
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		versions, err := filepath.Glob(filepath.Join(home, ".pyenv", "versions", "*", "bin", "python3"))
		if err == nil { // a home folder whose name is a pattern has none
			found = append(found, versions...)
		}
	}
	return found
}

// usable runs the interpreter, because its name says little, and gives where it really is: a link that is switched to
// another version would take the installed packages along.
func (p program) usable(ctx context.Context, python string) (string, error) {
	const question = "import sys; print(sys.version_info[0], sys.version_info[1], sys.executable)"
	output, err := exec.CommandContext(ctx, python, "-c", question).Output()
	if err != nil {
		return "", fmt.Errorf("run %s: %w", python, err)
	}
	fields := strings.SplitN(strings.TrimSpace(string(output)), " ", 3)
	if len(fields) != 3 {
		return "", fmt.Errorf("run %s: it says %q of itself", python, output)
	}
	minor, err := strconv.Atoi(fields[1])
	if err != nil || fields[0] != "3" || minor < p.oldest {
		return "", fmt.Errorf("%s is Python %s.%s", python, fields[0], fields[1])
	}
	return fields[2], nil
}
