package main

import (
	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
)

// newerTable parses the newer table of a configuration; nil for none.
func newerTable(cfg *config.Config) (*methods.Newer, error) {
	name, text := cfg.Table()
	if name == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	n, err := methods.ParseNewer(name, text)
	if err == nil {
		err = policy.CheckNewerTable(n)
	}
	if err == nil {
		err = argv.CheckNewerTable(n)
	}
	if err != nil {
		o, _ := cfg.Origin("codex.table")
		return nil, &config.Error{File: o.File, Line: o.Line, Column: o.Column, Key: "codex.table", Message: err.Error(), Hint: "correct this, or leave codex.table out"}
	}
	return n, nil
}

// useTable makes the newer table of a configuration count in this process. The check of the configuration has parsed it.
func useTable(cfg *config.Config) error {
	n, err := newerTable(cfg)
	if err == nil && !n.Equal(methods.NewerInForce()) {
		methods.UseNewer(n)
	}
	return err
}

// tableStatus describes a newer table. The JSON names are stable.
type tableStatus struct {
	Name    string `json:"name"`
	Release string `json:"release"`
	Counted int    `json:"counted"` // rows
	LeftOut int    `json:"leftOut"` // rows for names that the program does not know, and that do not count
}

// tableInForce returns the newer table that counts; nil for none.
func tableInForce() *tableStatus {
	n := methods.NewerInForce()
	if n == nil {
		return nil
	}
	return &tableStatus{n.Name, n.Release, n.Counted, len(n.Left)}
}

// examineTable says which table of Codex's names counts.
func examineTable() []finding {
	n := methods.NewerInForce()
	if n == nil {
		return nil
	}
	f := finding{"table", fine, "that of codex " + n.Release + ": " + n.Text(), ""}
	switch {
	case !n.IsNewer():
		f.State, f.Hint = warn, "leave codex.table out, or name a newer one"
	case n.Counted == 0 && len(n.Left) > 0:
		f.State, f.Hint = warn, "update codex-bridge"
	}
	return []finding{f}
}
