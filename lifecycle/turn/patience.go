package turn

import "time"

const (
	patience      = 20 * time.Minute
	leastPatience = 100 * time.Millisecond
)

// Patience is how long a turn may take: what was asked for, 20 minutes where nothing was,
// and 100 ms at the least.
func Patience(asked time.Duration) time.Duration {
	if asked == 0 {
		return patience
	}
	return max(asked, leastPatience)
}
