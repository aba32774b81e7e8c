package config

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Duration is a length of time, written "2s", "500ms", "1h30m".
type Duration time.Duration

// durationForm is stricter than time.ParseDuration: no sign, no bare number,
// no leading dot, and no units that nobody waits in.
var (
	durationForm = newExpr(`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`)
	bareNumber   = newExpr(`^[0-9]+$`)
)

// ParseDuration reads a duration: one or more numbers, each with one of the
// units ms, s, m, h.
func ParseDuration(s string) (Duration, error) {
	if !durationForm.MatchString(s) {
		if bareNumber.MatchString(s) {
			return 0, fmt.Errorf("%s has no unit; write %q", clip(s), s+"s")
		}
		return 0, fmt.Errorf("%s is not a duration; write a number and a unit (ms, s, m, h), as in \"2s\"", clip(s))
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%s is longer than can be counted; the most is %q", clip(s), Duration(math.MaxInt64/int64(time.Hour)*int64(time.Hour)).String())
	}
	return Duration(d), nil
}

// String gives the shortest form that ParseDuration reads back.
func (d Duration) String() string {
	t := time.Duration(d)
	switch {
	case t == 0:
		return "0s"
	case t%time.Hour == 0:
		return strconv.FormatInt(int64(t/time.Hour), 10) + "h"
	case t%time.Minute == 0:
		return strconv.FormatInt(int64(t/time.Minute), 10) + "m"
	case t%time.Second == 0:
		return strconv.FormatInt(int64(t/time.Second), 10) + "s"
	case t%time.Millisecond == 0:
		return strconv.FormatInt(int64(t/time.Millisecond), 10) + "ms"
	}
	return strconv.FormatFloat(float64(t)/float64(time.Millisecond), 'f', -1, 64) + "ms"
}

// MarshalText writes the form of String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what ParseDuration does.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := ParseDuration(string(b))
	if err == nil {
		*d = v
	}
	return err
}
