package config

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Size is a number of bytes, written "64MiB", "1GB" or as plain bytes.
type Size int64

// The binary units; KB, MB, GB and TB are powers of 1000.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

var units = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

var sizeForm = regexp.MustCompile(`^([0-9]+)((?:[KMGT]i?)?B)?$`)

// ParseSize reads a whole number of bytes with an optional unit: B, KB, MB,
// GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024).
func ParseSize(s string) (Size, error) {
	m := sizeForm.FindStringSubmatch(s)
	if m == nil {
		for _, u := range units {
			if n, ok := strings.CutSuffix(strings.ToLower(s), strings.ToLower(u.name)); ok && bareNumber.MatchString(strings.TrimSpace(n)) {
				return 0, fmt.Errorf("%s is not a size; write %q", clip(s), strings.TrimSpace(n)+u.name)
			}
		}
		return 0, fmt.Errorf("%s is not a size; write a whole number and a unit, as in \"64MiB\"", clip(s))
	}
	factor := int64(1)
	for _, u := range units {
		if u.name == m[2] {
			factor = u.bytes
		}
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%s is more than can be counted; write a smaller number", clip(s))
	}
	return Size(n * factor), nil
}

// String gives the shortest exact form that ParseSize reads back.
func (s Size) String() string {
	for _, u := range units {
		if n := int64(s); n != 0 && n%u.bytes == 0 && u.bytes > 1 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText writes the form of String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what ParseSize does.
func (s *Size) UnmarshalText(b []byte) error {
	v, err := ParseSize(string(b))
	if err == nil {
		*s = v
	}
	return err
}
