// Package compat knows how this program and the releases of Codex fit: newer tables of methods, releases that were checked,
// and overrides of methods.
package compat

import (
	"fmt"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

// TableStatus describes a newer table of Codex's methods. The JSON names are stable.
type TableStatus struct {
	Name    string `json:"name"`
	Release string `json:"release"`
	Counted int    `json:"counted"` // rows
	LeftOut int    `json:"leftOut"` // rows for names that the program does not know, and that do not count
}

// NewerTable returns the newer table of a configuration, which has checked it; nil for none.
func NewerTable(cfg *config.Config) *methods.Newer {
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

// StatusOfTable returns the status of the newer table; nil for none.
func StatusOfTable(cfg *config.Config) *TableStatus {
	n := NewerTable(cfg)
	if n == nil {
		return nil
	}
	return &TableStatus{n.Name, n.Release, n.Counted(), len(n.LeftOut)}
}

// TextOfTable says for people which rows of a newer table count.
func TextOfTable(n *methods.Newer) string {
	if !n.IsNewer() {
		return fmt.Sprintf("%s adds nothing, because the program's own table covers codex %s", n.Name, methods.Measured)
	}
	text := fmt.Sprintf("%s of %s count beside those of codex %s", output.Count(n.Counted(), "row"), n.Name, methods.Measured)
	if len(n.LeftOut) > 0 {
		text += fmt.Sprintf("; %d do not", len(n.LeftOut))
	}
	return text
}
