package result

// Backup is the reading out of a whole database: by a bare COPY, by backups and by pg_dump, in turns.
type Backup struct {
	Machine Machine       `json:"machine"` // of the run of this part
	Level   int           `json:"level"`   // of the backup's zstd
	Tables  []BackupTable `json:"tables"`
	MB      float64       `json:"mb"` // of all tables in COPY's binary form: what every rate counts
	Cells   []BackupCell  `json:"cells"`
	Memory  *BackupMemory `json:"memory,omitempty"` // absent where the system has no /proc
}

// BackupTable is one table that is read out.
type BackupTable struct {
	Name    string  `json:"name"`
	Columns string  `json:"columns"`
	About   string  `json:"about"` // what is special in its rows
	Rows    int     `json:"rows"`
	MB      float64 `json:"mb"`
}

// BackupCell is one number of jobs.
type BackupCell struct {
	Jobs  int        `json:"jobs"`
	Copy  BackupSide `json:"copy"`  // a bare COPY to nowhere over as many connections
	First BackupSide `json:"first"` // a backup into an empty archive
	Again BackupSide `json:"again"` // the next backup of the same rows
	// Ratio and AgainRatio are the backups' rates by COPY's, round by round.
	Ratio      Spread `json:"ratio"`
	AgainRatio Spread `json:"again_ratio"`
	StoredMB   Spread `json:"stored_mb"` // of the first backup, all files
	Sent       Spread `json:"sent"`      // what the next one added, as a share of that
	Dump       *Dump  `json:"dump,omitempty"`
}

// BackupSide is one way to read everything out.
type BackupSide struct {
	Seconds   Spread  `json:"seconds"`
	Rate      Spread  `json:"rate"`                 // MB/s
	ClientCPU Spread  `json:"client_cpu"`           // seconds a GB, as is the next
	ServerCPU *Spread `json:"server_cpu,omitempty"` // of all the server's processes; absent where it cannot be read
}

// Dump is pg_dump's directory format. Absent where the server's binaries have no pg_dump beside them.
type Dump struct {
	BackupSide

	Ratio    Spread `json:"ratio"` // the first backup's rate by its rate, round by round
	StoredMB Spread `json:"stored_mb"`
}

// BackupMemory is the peak resident memory of processes that end after one backup, in MB.
type BackupMemory struct {
	Idle    Spread       `json:"idle"` // of one that does nothing
	SmallMB float64      `json:"small_mb"`
	LargeMB float64      `json:"large_mb"`
	Peaks   []BackupPeak `json:"peaks"`
}

// BackupPeak is one number of jobs, over a small database and over the large one.
type BackupPeak struct {
	Jobs  int    `json:"jobs"`
	Small Spread `json:"small"`
	Large Spread `json:"large"`
}
