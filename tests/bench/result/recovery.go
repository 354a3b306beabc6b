package result

// Recovery is the coming back of a target: its base beside a bare COPY and the building of keys, its tail beside live apply.
type Recovery struct {
	Machine Machine       `json:"machine"` // of the run of this part
	Tables  []BackupTable `json:"tables"`
	MB      float64       `json:"mb"` // of all tables in COPY's binary form: what every rate counts
	Bases   []BaseCell    `json:"bases"`
	Replays []ReplayCell  `json:"replays"`
	Sizes   []Step        `json:"sizes"` // of bases, in MB, without a tail, the smallest first
	Tails   []Step        `json:"tails"` // of tails, in records, behind a base of one row, the shortest first
}

// BaseCell is one number of jobs.
type BaseCell struct {
	Jobs int        `json:"jobs"`
	Bare BackupSide `json:"bare"` // COPY and keys over as many connections
	// Restore is the part of a recovery that brings the base in. Its CPU is that of the whole recovery.
	Restore BackupSide `json:"restore"`
	Whole   Spread     `json:"whole"`   // seconds of the whole recovery, which had no tail
	Analyze Spread     `json:"analyze"` // seconds of the bare side's ANALYZE, which Bare leaves out
	Ratio   Spread     `json:"ratio"`   // the restore's rate by the bare side's, round by round
	// AnalyzedRatio is the same when the bare side has to make the statistics too.
	AnalyzedRatio Spread `json:"analyzed_ratio"`
}

// ReplayCell is one workload.
type ReplayCell struct {
	Workload string `json:"workload"`
	Records  int    `json:"records"`
	Batch    int    `json:"batch"` // records of a transaction, at most
	Replay   Side   `json:"replay"`
	Apply    Side   `json:"apply"` // live, with the same batches
	Ratio    Spread `json:"ratio"` // replay's rate by apply's, round by round
}

// Step is one size of what is recovered.
type Step struct {
	Units   float64 `json:"units"`
	Seconds Spread  `json:"seconds"` // of the whole recovery
	// PerUnit is what a unit takes here by what it takes in the smallest, round by round.
	PerUnit Spread `json:"per_unit"`
}
