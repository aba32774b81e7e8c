package setting

import (
	"cmp"
	"strings"

	"golang.org/x/mod/semver"
)

// CompareVersions compares two versions of Codex as Semantic Versioning orders them: a pre-release comes before its
// release. So does a build, such as 0.171.0+local, since it may be anything. A text that is no version is lower than all
// versions, so that no minimum admits it.
func CompareVersions(a, b string) int {
	plain := func(version string) int {
		if strings.Contains(version, "+") {
			return 0
		}
		return 1
	}
	a, b = "v"+a, "v"+b
	order := semver.Compare(a, b)
	if order == 0 && semver.IsValid(a) && semver.IsValid(b) {
		order = cmp.Compare(plain(a), plain(b))
	}
	return order
}
