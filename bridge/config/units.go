package config

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Duration is a length of time, written "2s", "500ms", "1h30m".
type Duration time.Duration

var durationUnits = []struct {
	name string
	size time.Duration
}{{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

// durationForm is stricter than time.ParseDuration: no sign, no leading point, no microseconds.
var (
	durationForm = newRegexp(`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`)
	bareNumber   = newRegexp(`^[0-9]+$`)
)

func parseDuration(s string) (Duration, *Error) {
	if bareNumber.MatchString(s) {
		return 0, newError(quote(s)+" has no unit", "write "+strconv.Quote(s+"s"))
	}
	if !durationForm.MatchString(s) {
		return 0, newError(quote(s)+" is not a duration", `write a number and a unit (ms, s, m, h), as in "2s"`)
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		maxHours := math.MaxInt64 / time.Hour
		return 0, newError(quote(s)+" is too large", "the maximum is "+strconv.Quote(Duration(maxHours*time.Hour).String()))
	}
	return Duration(d), nil
}

// String returns the shortest form that a file may have.
func (d Duration) String() string {
	t := time.Duration(d)
	if t == 0 {
		return "0s"
	}
	for _, unit := range durationUnits {
		if t%unit.size == 0 {
			return strconv.FormatInt(int64(t/unit.size), 10) + unit.name
		}
	}
	return strconv.FormatFloat(float64(t)/float64(time.Millisecond), 'f', -1, 64) + "ms"
}

// MarshalText returns the form of String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Size is a number of bytes, written "64MiB", "1GB" or as a whole number.
type Size int64

// Binary units.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

var sizeForm = newRegexp(`^([0-9]+)((?:[KMGT]i?)?B)?$`)

func parseSize(s string) (Size, *Error) {
	m := sizeForm.compiled().FindStringSubmatch(s)
	if m == nil {
		for _, unit := range sizeUnits {
			number, ok := strings.CutSuffix(strings.ToLower(s), strings.ToLower(unit.name))
			if number = strings.TrimSpace(number); ok && bareNumber.MatchString(number) {
				return 0, newError(quote(s)+" is not a size", "write "+strconv.Quote(number+unit.name))
			}
		}
		return 0, newError(quote(s)+" is not a size", `write a whole number and a unit, as in "64MiB"`)
	}
	factor := int64(1)
	for _, unit := range sizeUnits {
		if unit.name == m[2] {
			factor = unit.bytes
		}
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > math.MaxInt64/factor {
		return 0, newError(quote(s)+" is too large", "write a smaller number")
	}
	return Size(n * factor), nil
}

// String returns the shortest exact form that a file may have.
func (s Size) String() string {
	for _, unit := range sizeUnits {
		if n := int64(s); n != 0 && n%unit.bytes == 0 && unit.bytes > 1 {
			return strconv.FormatInt(n/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText returns the form of String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// lazyRegexp is a regular expression that is compiled at its first use. Most processes use none, and
// compiling all would cost 0.5 ms of each start.
type lazyRegexp struct {
	text     string
	compiled func() *regexp.Regexp
}

func newRegexp(text string) *lazyRegexp {
	return &lazyRegexp{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// MatchString reports whether the expression matches a text.
func (e *lazyRegexp) MatchString(s string) bool { return e.compiled().MatchString(s) }

// String returns the expression.
func (e *lazyRegexp) String() string { return e.text }
