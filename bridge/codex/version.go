package codex

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// userAgent is how codex names itself in the answer to initialize:
// "editor/0.169.0 (Debian 12.0.0; x86_64) …", of which clients read the version.
var userAgent = regexp.MustCompile(`^[^/]+/(\d+\.\d+\.\d+\S*)`)

// versionText is the version in the output of codex --version: "codex-cli 0.169.0".
var versionText = regexp.MustCompile(`(?:^|\s)v?(\d+(?:\.\d+)+\S*)`)

// VersionOf is codex's version in a userAgent or in the output of --version, ""
// when there is none.
func VersionOf(text string) string {
	for _, form := range []*regexp.Regexp{userAgent, versionText} {
		if m := form.FindStringSubmatch(text); m != nil {
			return m[1]
		}
	}
	return ""
}

// CompareVersions orders two versions by their numbers, left-out ones counting
// as 0. Of two with the same numbers, one with anything behind them (a
// pre-release, a build) comes first.
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
		return cmp.Compare(arest, brest)
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

// TooOld says what is wrong with a codex of that version, nil when it is minimum
// or later. No version at all is too old as well.
func TooOld(version, minimum string) error {
	switch {
	case version == "":
		return fmt.Errorf("codex does not tell its version; %s or later is needed: update it, or lower codex.min_version", minimum)
	case CompareVersions(version, minimum) < 0:
		return fmt.Errorf("codex is %s; %s or later is needed: update it, or lower codex.min_version", version, minimum)
	}
	return nil
}
