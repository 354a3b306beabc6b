package runs

// SetBetween calls do between the two transactions of every Begin from now on.
func (r *Runs) SetBetween(do func()) { r.between = do }
