package table

import "slices"

// Median returns the middle value, or the mean of the two middle values. values must not be empty.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Quantile returns the value below which the fraction q of the values is, with linear
// interpolation.
func Quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
