package main

import (
	"cmp"
	"encoding/json"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
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

type versionCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

// versionInfo describes the program and the releases of Codex that it is for. The JSON names are stable.
type versionInfo struct {
	Version  string        `json:"version"`
	Commit   string        `json:"commit,omitempty"`
	Date     string        `json:"date,omitempty"` // of the commit
	Go       string        `json:"go"`
	Platform string        `json:"platform"`
	Codex    codexReleases `json:"codex"`
}

type codexReleases struct {
	Tested         string       `json:"tested"`
	OldestEnforced string       `json:"oldestEnforced"`
	Table          *tableStatus `json:"table,omitempty"`      // a newer table of Codex's methods
	TableError     string       `json:"tableError,omitempty"` // why it is not known
}

// Run prints the version in the first line, and then one fact per line.
func (c versionCmd) Run(out io.Writer) error {
	// The configuration names a newer table. One that does not load is no reason to hide the version.
	cfg, invalid := config.LoadLenient(configFiles())
	if invalid != nil {
		cfg = config.Default()
	}
	v := versionInfo{
		Version: Version, Commit: Commit, Date: Date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Codex: codexReleases{methods.Measured, config.Default().Codex.MinVersion, statusOfTable(cfg), ""},
	}
	if invalid != nil {
		v.Codex.TableError = "the configuration does not load; see \"codex-bridge doctor\""
	}
	if c.JSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	w := &printer{w: out}
	w.line("codex-bridge %s", v.Version)
	w.line("commit  %s", cmp.Or(v.Commit, "unknown"))
	w.line("date    %s", cmp.Or(v.Date, "unknown"))
	w.line("go      %s %s", v.Go, v.Platform)
	w.line("codex   %s  tested", v.Codex.Tested)
	w.line("        %s  the oldest with which a policy is enforced", v.Codex.OldestEnforced)
	switch n := newerTable(cfg); {
	case invalid != nil:
		w.line("table   unknown: %s", v.Codex.TableError)
	case n != nil:
		w.item("table   ", n.Release+": "+textOfTable(n))
	default:
		w.line("table   %s, the program's own", methods.Measured)
	}
	return w.err
}
