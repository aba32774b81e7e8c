package main

import (
	"fmt"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
)

// tableStatus describes a newer table of Codex's methods. The JSON names are stable.
type tableStatus struct {
	Name    string `json:"name"`
	Release string `json:"release"`
	Counted int    `json:"counted"` // rows
	LeftOut int    `json:"leftOut"` // rows for names that the program does not know, and that do not count
}

// newerTable returns the newer table of a configuration, which has checked it; nil for none.
func newerTable(cfg *config.Config) *methods.Newer {
	newer := cfg.Policy.Newer
	if newer.Name == "" {
		return nil
	}
	n, err := methods.ParseNewer(newer.Name, newer.Text)
	if err != nil {
		return nil
	}
	return n
}

// statusOfTable returns the status of the newer table; nil for none.
func statusOfTable(cfg *config.Config) *tableStatus {
	n := newerTable(cfg)
	if n == nil {
		return nil
	}
	return &tableStatus{n.Name, n.Release, n.Counted(), len(n.LeftOut)}
}

// textOfTable says for people which rows of a newer table count.
func textOfTable(n *methods.Newer) string {
	if !n.IsNewer() {
		return fmt.Sprintf("%s adds nothing, because the program's own table covers codex %s", n.Name, methods.Measured)
	}
	text := fmt.Sprintf("%s of %s count beside those of codex %s", count(n.Counted(), "row"), n.Name, methods.Measured)
	if len(n.LeftOut) > 0 {
		text += fmt.Sprintf("; %d do not", len(n.LeftOut))
	}
	return text
}

// examineTable says which newer table of Codex's methods counts, with a finding for each row that does not.
func examineTable(cfg *config.Config) []finding {
	n := newerTable(cfg)
	if n == nil {
		return nil
	}
	f := finding{"table", fine, "that of codex " + n.Release + ": " + textOfTable(n), ""}
	if !n.IsNewer() {
		f.State, f.Hint = warn, "leave codex.table out, or name a newer one"
	}
	all := []finding{f}
	for _, one := range n.LeftOut {
		all = append(all, finding{"table", fine, fmt.Sprintf("%q does not count: %s", one.Row, one.Why), ""})
	}
	return all
}
