package backup

// CutAt makes chunks of another size than chunk.Wanted, so that a test needs few rows for many of them.
func (o Options) CutAt(wanted int) Options {
	o.wanted = wanted
	return o
}
