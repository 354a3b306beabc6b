package restore

// LoadWholeUpTo makes tables large that are larger than so many bytes.
func (d *Database) LoadWholeUpTo(size int64) { d.whole = size }
