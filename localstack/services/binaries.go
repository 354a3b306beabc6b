package services

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"tidemark/localstack/maven"
	"tidemark/shared/fault"
)

// oldestMajor is the oldest PostgreSQL that Tidemark writes to.
const oldestMajor = 15

// findBinaries gives the folder that holds initdb and postgres: the machine's own, else a download.
func findBinaries(ctx context.Context, options PostgresOptions, runAs *account) (string, error) {
	dirs := options.SearchDirs
	if dirs == nil {
		dirs = usualDirs()
	}
	for _, dir := range dirs {
		if usable(ctx, dir, runAs) {
			return dir, nil
		}
	}
	dir, err := downloadBinaries(ctx, options)
	if err == nil || fault.Is(err, fault.Corrupt) {
		return dir, err
	}
	return "", fault.New(fault.Misconfigured, "no PostgreSQL server: none is named, no binaries of version %d or later are "+
		"in %d folders, and the download failed: %w", oldestMajor, len(dirs), err).WithHint("do one of three: "+
		"(1) name a server that is up (tests: TIDEMARK_TEST_POSTGRES_URL=postgres://…); "+
		"(2) install PostgreSQL %d or later (apt-get install postgresql, brew install postgresql@17); "+
		"(3) let it be downloaded from %s, or from a mirror of that address given as Mirror", oldestMajor, maven.Central)
}

// usualDirs are the folders where packages put the server: what PATH finds, then Debian, Red Hat, Homebrew, source
// builds and Postgres.app; of several versions in one place the newest first.
func usualDirs() []string {
	var dirs []string
	if found, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(found); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin", "/usr/local/pgsql/bin", "/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			continue // the patterns are constants: none is malformed
		}
		slices.SortFunc(matches, func(a, b string) int { return cmp.Compare(firstNumber(b), firstNumber(a)) })
		dirs = append(dirs, matches...)
	}
	return dirs
}

// usable says whether dir holds a complete server, new enough, that the account may run.
func usable(ctx context.Context, dir string, runAs *account) bool {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return false
	}
	if runAs != nil && !reachable(dir) {
		return false
	}
	output, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output() //nolint:gosec // a named folder
	return err == nil && firstNumber(string(output)) >= oldestMajor
}

var digits = regexp.MustCompile(`\d+`)

// firstNumber is the first run of digits in text, 0 when there is none.
func firstNumber(text string) int {
	number, err := strconv.Atoi(digits.FindString(text))
	if err != nil {
		return 0
	}
	return number
}
