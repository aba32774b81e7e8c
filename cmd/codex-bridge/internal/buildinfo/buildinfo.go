// Package buildinfo has the version of the program.
package buildinfo

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// Version, Commit and Date are set by the release build. Date is the date of the commit, so that
// two builds of a commit are the same.
var (
	Version = ""
	Commit  = ""
	Date    = ""
)

// `go install MODULE@VERSION` and `go build` set no variables, but Go records the module's version and
// often the commit.
func init() {
	if Version == "" {
		if info, ok := debug.ReadBuildInfo(); ok {
			Version, Commit, Date = recorded(info)
		}
	}
	Version = cmp.Or(withoutV(Version), "dev")
}

// recorded returns the version, the commit and its date that Go recorded in the program; "" for
// those that it did not.
func recorded(info *debug.BuildInfo) (version, commit, date string) {
	if version = info.Main.Version; version == "(devel)" {
		version = ""
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			commit = setting.Value
		case "vcs.time":
			date = setting.Value
		}
	}
	return version, commit, date
}

// withoutV returns 1.2.3 for the tag v1.2.3.
func withoutV(version string) string {
	if rest, ok := strings.CutPrefix(version, "v"); ok && rest != "" && '0' <= rest[0] && rest[0] <= '9' {
		return rest
	}
	return version
}
