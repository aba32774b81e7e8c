package table

import "slices"

// Median is the middle of the values; of an even number of them the mean of the two in
// the middle. There has to be one.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Quantile is the value below which a part of the values lies, q of 1; between two of
// them it is on the straight line from one to the other.
func Quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
