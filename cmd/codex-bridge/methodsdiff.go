package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"codex-bridge/bridge/codex"
	"codex-bridge/bridge/methods"
)

type methodsDiffCmd struct {
	Codex string `help:"The Codex to compare; without it, the one that the bridge starts." name:"codex" placeholder:"PATH"`
	JSON  bool   `help:"Print JSON." name:"json"`
}

// methodChange is a name that a Codex has and the tested one has not, or the other way round. The
// JSON names are stable.
type methodChange struct {
	Change string       `json:"change"` // "new method", "gone method", "new field" or "gone field"
	Side   methods.Side `json:"side"`
	Method string       `json:"method"`
	Field  string       `json:"field,omitempty"`
	// Like is the method that has the most similar name, and the rest its row, as a proposal for a new
	// method.
	Like    string          `json:"like,omitempty"`
	Class   methods.Class   `json:"class,omitempty"`
	Verdict methods.Verdict `json:"verdict,omitempty"`
}

// Run prints the differences. It ends with 1 if there are any.
func (c methodsDiffCmd) Run(out io.Writer) error {
	cfg, err := loadConfig()
	if err != nil {
		return err
	}
	path := c.Codex
	if path == "" {
		if path, err = codex.Find(cfg.Codex.Command); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), schemaTime+20*time.Second)
	defer cancel()
	p, err := codex.LoadMethods(ctx, codex.Command{Path: path, Args: cfg.Codex.Args, Env: codex.Environ(os.Environ(), cfg.Codex.Env, cfg.Codex.EnvRemove)})
	if err != nil {
		return fmt.Errorf("the schema of %s can't be read: %w", path, err)
	}
	var tested codex.Release
	if err := json.Unmarshal(methods.Schema, &tested); err != nil {
		return err
	}
	changes := compareProtocols(&tested, p)
	if c.JSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(changes); err != nil {
			return err
		}
	} else if err := printChanges(out, p.Version, changes); err != nil {
		return err
	}
	if len(changes) > 0 {
		return exitError(1)
	}
	return nil
}

// compareProtocols returns the differences, sorted by side, method and field.
func compareProtocols(tested, other *codex.Release) []methodChange {
	changes := []methodChange{}
	for _, side := range methods.Sides() {
		names := append(tested.Names(side), other.Names(side)...)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			was, had := tested.Methods[side][name]
			is, has := other.Methods[side][name]
			switch {
			case !had:
				one := methodChange{Change: "new method", Side: side, Method: name}
				if like, ok := nearestRow(side, name); ok {
					one.Like, one.Class, one.Verdict = like.Method, like.Class, like.Verdict
				}
				changes = append(changes, one)
			case !has:
				changes = append(changes, methodChange{Change: "gone method", Side: side, Method: name})
			default:
				for _, field := range is.Params {
					if !slices.Contains(was.Params, field) {
						changes = append(changes, methodChange{Change: "new field", Side: side, Method: name, Field: field})
					}
				}
				for _, field := range was.Params {
					if !slices.Contains(is.Params, field) {
						changes = append(changes, methodChange{Change: "gone field", Side: side, Method: name, Field: field})
					}
				}
			}
		}
	}
	return changes
}

// nearestRow returns the row of a side whose method shares the longest start with a name. Between
// equals the strictest verdict counts.
func nearestRow(side methods.Side, name string) (best methods.Row, ok bool) {
	strictness := []methods.Verdict{methods.Pass, methods.Rewrite, methods.Gate, methods.Deny}
	longest := 0
	for _, row := range methods.Rows() {
		if row.Side != side {
			continue
		}
		n := 0
		for n < min(len(name), len(row.Method)) && name[n] == row.Method[n] {
			n++
		}
		if n > longest || n == longest && n > 0 && slices.Index(strictness, row.Verdict) > slices.Index(strictness, best.Verdict) {
			longest, best, ok = n, row, true
		}
	}
	return best, ok
}

func printChanges(out io.Writer, version string, changes []methodChange) error {
	w := &printer{w: out}
	w.line("codex %s, compared with %s, which this codex-bridge knows:", version, methods.Measured)
	if len(changes) == 0 {
		w.line("the same methods and fields")
	}
	for _, c := range changes {
		line := fmt.Sprintf("%-11s  %s  %s", c.Change, c.Side, c.Method)
		if c.Field != "" {
			line += "  " + c.Field
		}
		if c.Like != "" {
			line += fmt.Sprintf("  (proposal: %s, %s, like %s)", c.Verdict, c.Class, c.Like)
		}
		w.line("%s", strings.TrimSpace(line))
	}
	return w.err
}
