package setting

import (
	"cmp"
	"strconv"
	"strings"
)

// CompareVersions compares two versions of Codex by their numbers; missing ones count as 0. Of two versions
// with the same numbers, one with a suffix (a pre-release or a build) is lower. Two suffixes are
// equal.
func CompareVersions(a, b string) int {
	an, arest := numbers(a)
	bn, brest := numbers(b)
	for i := range max(len(an), len(bn)) {
		var x, y int
		if i < len(an) {
			x = an[i]
		}
		if i < len(bn) {
			y = bn[i]
		}
		if x != y {
			return cmp.Compare(x, y)
		}
	}
	switch {
	case (arest == "") == (brest == ""):
		return 0
	case arest == "":
		return 1
	}
	return -1
}

func numbers(version string) (list []int, rest string) {
	end := strings.IndexFunc(version, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(version)
	}
	for part := range strings.SplitSeq(version[:end], ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		list = append(list, n)
	}
	return list, version[end:]
}
