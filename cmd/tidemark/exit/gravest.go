package exit

import "slices"

// Gravest gives the error whose code an operator should look at first, nil of none.
func Gravest(all []error) error {
	order := []int{integrity, trust, otherTarget, held, gap, noBackup, storeAccess, database, storeAway, usage}
	gravity := func(err error) int {
		if at := slices.Index(order, Code(err, false)); at >= 0 {
			return at
		}
		return len(order)
	}
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b error) int { return gravity(a) - gravity(b) })
}
