package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/lifecycle/threads"
)

// ThreadsCmd is the command "codex-bridge threads".
type ThreadsCmd struct {
	List   listThreadsCmd  `cmd:"" help:"List the sessions with a thread, the last changed first." example:"codex-bridge threads list"`
	Show   showThreadCmd   `cmd:"" help:"Show the thread of a session: its reason, its fingerprints and the process that holds it." example:"codex-bridge threads show nightly"`
	Clear  clearThreadCmd  `cmd:"" help:"Forget the thread of a session. The next start makes another; Codex keeps the thread." example:"codex-bridge threads clear nightly"`
	Import importThreadCmd `cmd:"" help:"Import a binding from the file beside a session's file (FILE.codex-app-server.json)." example:"codex-bridge threads import session.jsonl --session nightly"`
	Export exportThreadCmd `cmd:"" help:"Write the binding of a session to the file beside a session's file." example:"codex-bridge threads export nightly session.jsonl"`
}

const noSessions = "no session has a thread"

type listThreadsCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c listThreadsCmd) Run(out io.Writer) error {
	all := []threads.Shown{}
	more := false
	err := decisionlog.ReadState(func(ctx context.Context, s *store.Store) error {
		kept, err := s.Bindings(ctx, threads.Most+1)
		if err != nil {
			return err
		}
		more = len(kept) > threads.Most
		for _, b := range kept[:min(len(kept), threads.Most)] {
			shown, err := threads.Show(ctx, s, b)
			if err != nil {
				return err
			}
			all = append(all, shown)
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, store.ErrNotExist):
		return err
	case c.JSON:
		return output.WriteJSON(out, all)
	case len(all) == 0:
		fmt.Fprintln(out, noSessions)
		return nil
	}
	var rows output.Table
	rows.Row("SESSION", "THREAD", "LAST", "REASON", "UPDATED", "HELD BY")
	for _, b := range all {
		holder := "-"
		if b.Holder != nil {
			holder = b.Holder.String()
		}
		rows.Row(display.Line(b.Session), dash(b.Thread), dash(b.Action), dash(string(b.Reason)), display.Line(b.Updated), display.Line(holder))
	}
	if err := rows.Print(out); err != nil {
		return err
	}
	if more {
		fmt.Fprintf(out, "and more: these are the %d that changed last\n", len(all))
	}
	return nil
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return display.Line(text)
}

type showThreadCmd struct {
	Session string `arg:"" help:"The key of the session."`
	JSON    bool   `help:"Print JSON." name:"json"`
}

func (c showThreadCmd) Run(out io.Writer) error {
	var b threads.Shown
	err := decisionlog.ReadState(func(ctx context.Context, s *store.Store) error {
		kept, found, err := s.BindingBySession(ctx, c.Session)
		if err != nil {
			return err
		}
		if !found {
			return unknownSession(c.Session)
		}
		b, err = threads.Show(ctx, s, kept)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotExist):
		return unknownSession(c.Session)
	case err != nil:
		return err
	case c.JSON:
		return output.WriteJSON(out, b)
	}
	var rows output.Table
	row := func(name, value string) {
		if value != "" {
			rows.Row(name, display.Line(value))
		}
	}
	row("session", b.Session)
	row("thread", b.Thread)
	row("before it", b.Before)
	row("last", b.Action)
	row("because", reasonOf(b))
	row("folder", b.Cwd)
	row("model", b.Model)
	row("provider", b.Provider)
	row("created", b.Created)
	row("updated", b.Updated)
	if b.Holder != nil {
		row("held by", b.Holder.String()+", since "+b.Holder.Taken.Format(time.RFC3339))
	}
	row("problem", b.Problem)
	for _, f := range fingerprintRows(b.Fingerprints) {
		row(f[0], f[1])
	}
	return rows.Print(out)
}

// reasonOf returns the reason in words, with its name for scripts.
func reasonOf(b threads.Shown) string {
	switch {
	case b.Reason == "":
		return ""
	case b.Words == "":
		return string(b.Reason)
	}
	return fmt.Sprintf("%s (%s)", b.Words, b.Reason)
}

func fingerprintRows(f threads.Fingerprints) [][2]string {
	return [][2]string{
		{"dynamic tools", f.DynamicTools}, {"user's MCP servers", f.UserMCPServers}, {"MCP servers", f.MCPServers},
		{"apps of plugins", f.PluginApps}, {"context engine", f.ContextEngine}, {"environments", f.Environments},
	}
}

func unknownSession(key string) error {
	return fmt.Errorf("no session in the state has the key %s; \"codex-bridge threads list\" lists them", display.Line(key))
}
