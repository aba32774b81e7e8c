package cli

import (
	"cmp"
	"encoding/json"
	"io"
	"runtime"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/cmd/codex-bridge/internal/compat"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

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
	Tested         string              `json:"tested"`
	OldestEnforced string              `json:"oldestEnforced"`
	Table          *compat.TableStatus `json:"table,omitempty"`      // a newer table of Codex's methods
	TableError     string              `json:"tableError,omitempty"` // why it is not known
}

// Run prints the version in the first line, and then one fact per line.
func (c versionCmd) Run(out io.Writer) error {
	// The configuration names a newer table. One that does not load is no reason to hide the version.
	cfg, invalid := config.LoadLenient(configured.Files())
	if invalid != nil {
		cfg = config.Default()
	}
	v := versionInfo{
		Version: buildinfo.Version, Commit: buildinfo.Commit, Date: buildinfo.Date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Codex: codexReleases{methods.Measured, config.Default().Codex.MinVersion, compat.StatusOfTable(cfg), ""},
	}
	if invalid != nil {
		v.Codex.TableError = "the configuration does not load; see \"codex-bridge doctor\""
	}
	if c.JSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(v)
	}
	w := output.NewPrinter(out)
	w.Line("codex-bridge %s", v.Version)
	w.Line("commit  %s", cmp.Or(v.Commit, "unknown"))
	w.Line("date    %s", cmp.Or(v.Date, "unknown"))
	w.Line("go      %s %s", v.Go, v.Platform)
	w.Line("codex   %s  tested", v.Codex.Tested)
	w.Line("        %s  the oldest with which a policy is enforced", v.Codex.OldestEnforced)
	switch n := compat.NewerTable(cfg); {
	case invalid != nil:
		w.Line("table   unknown: %s", v.Codex.TableError)
	case n != nil:
		w.Item("table   ", n.Release+": "+compat.TextOfTable(n))
	default:
		w.Line("table   %s, the program's own", methods.Measured)
	}
	return w.Failure()
}
