package setting

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// CompareVersions compares two versions of Codex as Semantic Versioning orders them: by their numbers, of which missing
// ones count as 0, then a pre-release before its release, and two pre-releases by their identifiers. A build, after "+",
// does not count. A text without a number at its start, or without one after a dot, is lower than all versions, so that
// no minimum admits it.
func CompareVersions(a, b string) int {
	x, y := parseVersion(a), parseVersion(b)
	for i := range max(len(x.numbers), len(y.numbers)) {
		if c := cmp.Compare(x.number(i), y.number(i)); c != 0 {
			return c
		}
	}
	switch {
	case x.pre == y.pre:
		return 0
	case x.pre == "":
		return 1
	case y.pre == "":
		return -1
	}
	return comparePreReleases(x.pre, y.pre)
}

// parsedVersion is a version without its build.
type parsedVersion struct {
	numbers []int
	pre     string // the pre-release, "alpha.1"
}

// number returns the number at a position. Missing ones are 0.
func (v parsedVersion) number(i int) int {
	if i < len(v.numbers) {
		return v.numbers[i]
	}
	return 0
}

func parseVersion(text string) parsedVersion {
	text, _, _ = strings.Cut(text, "+")
	end := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(text)
	}
	v := parsedVersion{pre: strings.TrimPrefix(text[end:], "-")}
	for part := range strings.SplitSeq(text[:end], ".") {
		if part == "" {
			return parsedVersion{numbers: []int{-1}}
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			n = math.MaxInt // too many digits
		}
		v.numbers = append(v.numbers, n)
	}
	return v
}

// comparePreReleases compares the identifiers of two pre-releases: numbers by their value and before words, words by
// their bytes. Of two that begin alike the longer one is higher.
func comparePreReleases(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if c := compareIdentifiers(x, y); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func compareIdentifiers(a, b string) int {
	isA, isB := isNumber(a), isNumber(b)
	switch {
	case isA && isB:
		a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case isA:
		return -1
	case isB:
		return 1
	}
	return cmp.Compare(a, b)
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}
