package report

import "fmt"

// objects is a number of objects for a person.
func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}

// Size is a number of bytes for a person.
func Size(bytes int64) string {
	const step = 1 << 10
	if bytes < step {
		return fmt.Sprintf("%d bytes", bytes)
	}
	scaled, unit := float64(bytes)/step, 0
	for ; scaled >= step && unit < 3; unit++ {
		scaled /= step
	}
	return fmt.Sprintf("%.1f %ciB", scaled, "KMGT"[unit])
}
