package config

import (
	"errors"
	"slices"
	"strings"

	"tidemark/shared/config/setting"
)

// Backup is the environment of whoever makes backups.
type Backup struct {
	Process
	Archive         Archive
	Jobs            int      // readers side by side
	AllowUncaptured []string // what may be left out although a restore will not bring it back
}

// LoadBackup reads the environment of whoever makes backups. It leaves the variables of the other processes alone.
//
// Errors: fault.Misconfigured for everything that is wrong, in one error.
func LoadBackup(lookup func(string) (string, bool), environ []string) (Backup, error) {
	return load(backupVariables(), lookup, environ)
}

// Settings lists the variables of whoever makes backups.
func (Backup) Settings() []setting.Setting { return setting.Describe(backupVariables()) }

// backupVariables is the table of the variables of whoever makes backups. How a session is kept from one delivery to the
// next is nothing to a backup, which opens its sessions anew.
func backupVariables() []setting.Field[Backup] {
	process := slices.DeleteFunc(processVariables(), func(f setting.Field[Process]) bool {
		return f.Name == "TIDEMARK_DATABASE_CONNECTIONS" || f.Name == "TIDEMARK_PREPARED_STATEMENTS"
	})
	fields := setting.Lift(process, func(b *Backup) *Process { return &b.Process })
	fields = append(fields, setting.Lift(archiveVariables(), func(b *Backup) *Archive { return &b.Archive })...)
	return append(fields,
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_BACKUP_JOBS", Default: "2",
			Meaning: "How many readers copy tables side by side. Each takes a connection, about a core and up to 150 MB; " +
				"the database has as many cores less for others meanwhile.",
		}, setting.Number(1, mostJobs), func(b *Backup) *int { return &b.Jobs }),
		setting.Scalar(setting.Setting{
			Name: "TIDEMARK_ALLOW_UNCAPTURED", Example: "publication shop; subscription other",
			Meaning: "What a backup may leave out although a restore will not bring it back, as the refusal names it. " +
				"Anything else that cannot be captured refuses the backup.",
		}, setting.Text("names with a semicolon between them", parseNames), func(b *Backup) *[]string { return &b.AllowUncaptured }),
	)
}

const mostJobs = 64

// parseNames reads a list of names. They have commas in them, as in function f(integer,text).
func parseNames(given string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(given, ";") {
		name = strings.TrimSpace(name)
		switch {
		case name == "":
			return nil, errors.New("has nothing before or behind a semicolon")
		case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return nil, errors.New("holds a control character")
		case slices.Contains(names, name):
			return nil, errors.New("names something twice")
		}
		names = append(names, name)
	}
	return names, nil
}
