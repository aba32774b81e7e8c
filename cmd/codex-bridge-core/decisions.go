package main

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/decisionlog"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/cmd/internal/settings"
)

// decisions runs "decisions list" and "decisions verify".
func decisions(args []string, out io.Writer) error {
	folder, err := statefolder.Path()
	if err != nil {
		return err
	}
	switch {
	case len(args) > 0 && len(args) <= 2 && args[0] == "verify":
		noted := decision.NoHead
		if len(args) == 2 {
			if noted, err = decision.ParseHead(args[1]); err != nil {
				return &settings.RefusedArgs{Problem: err.Error()}
			}
		}
		head, err := decisionlog.Verify(folder, noted)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%d decisions, none changed\nhead %s\n", head.Seq, head)
		return err
	case len(args) > 0 && args[0] == "list":
		return list(folder, args[1:], out)
	}
	return &settings.RefusedArgs{Problem: `use "codex-bridge-core decisions list" or "codex-bridge-core decisions verify [HEAD]"`}
}

// list prints the decisions, the newest last.
func list(folder string, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("decisions list", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	asJSON := flags.Bool("json", false, "")
	verdict := flags.String("verdict", "", "")
	limit := flags.Int("limit", 50, "")
	if err := flags.Parse(args); err != nil {
		return &settings.RefusedArgs{Problem: err.Error()}
	}
	var all []decision.Entry
	for e, err := range decisionlog.Entries(folder) {
		if err != nil {
			return err
		}
		if *verdict == "" || e.Verdict == *verdict {
			all = append(all, e)
		}
		if *limit > 0 && len(all) > *limit {
			all = all[1:]
		}
	}
	var rows []string
	for _, e := range all {
		line, err := e.Line()
		if err != nil {
			return err
		}
		if row := string(line); *asJSON {
			rows = append(rows, row)
			continue
		}
		rows = append(rows, fmt.Sprintf("%d %s %s %s %s\n    %s (%s): %s", e.Seq, e.TimeText(), display.Line(e.Verdict), display.Line(e.Method), display.Line(e.Thread),
			display.Line(e.Rule), display.Line(e.Origin), display.Line(e.Reason)))
	}
	text := strings.Join(rows, "\n")
	if *asJSON {
		text = "[" + strings.Join(rows, ",\n ") + "]"
	}
	_, err := fmt.Fprintln(out, text)
	return err
}
