package backups

import (
	"strconv"

	"github.com/spf13/pflag"

	"tidemark/shared/config"
)

// Flags is what the command line says of a backup. What a variable can say too is read as that variable, so that
// every rule holds for both.
type Flags struct {
	jobs, level        int
	primary, secondary string
	allowed            []string

	DryRun, JSON bool
}

// Declare makes them known.
func (f *Flags) Declare(flags *pflag.FlagSet) {
	flags.IntVar(&f.jobs, "jobs", 0, "readers side by side, in place of TIDEMARK_BACKUP_JOBS")
	flags.IntVar(&f.level, "compress", 0, "level of zstd, in place of TIDEMARK_COMPRESSION_LEVEL")
	flags.StringVar(&f.primary, "primary", "", "where the backup goes, in place of TIDEMARK_ARCHIVE")
	flags.StringVar(&f.secondary, "secondary", "", "where its copy goes, in place of TIDEMARK_ARCHIVE_SECONDARY")
	flags.StringArrayVar(&f.allowed, "allow-uncaptured", nil,
		"what may be left out although a restore will not bring it back, as the refusal names it (may be repeated)")
	flags.BoolVar(&f.DryRun, "dry-run", false, "say what would be read, and write nothing")
	flags.BoolVar(&f.JSON, "json", false, "print progress and result as JSON")
}

// Load reads the environment under the flags that were given. Errors: fault.Misconfigured.
func (f *Flags) Load(flags *pflag.FlagSet) (config.Backup, error) {
	lookup, environ := config.OS()
	given := map[string]string{}
	for _, flag := range []struct{ name, variable, value string }{
		{"jobs", "TIDEMARK_BACKUP_JOBS", strconv.Itoa(f.jobs)},
		{"compress", "TIDEMARK_COMPRESSION_LEVEL", strconv.Itoa(f.level)},
		{"primary", "TIDEMARK_ARCHIVE", f.primary},
		{"secondary", "TIDEMARK_ARCHIVE_SECONDARY", f.secondary},
	} {
		if flags.Changed(flag.name) {
			given[flag.variable] = flag.value
		}
	}
	environment, err := config.LoadBackup(func(name string) (string, bool) {
		if value, overruled := given[name]; overruled {
			return value, true
		}
		return lookup(name)
	}, environ)
	environment.AllowUncaptured = append(environment.AllowUncaptured, f.allowed...)
	return environment, err
}
