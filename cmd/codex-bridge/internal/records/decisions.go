// Package records has the commands for what the bridge keeps: decisions, grants, requests for a second person, threads,
// transcripts and traces.
package records

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/cmd/codex-bridge/internal/compat"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/follow"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/relay/fleet"
	"codex-bridge.example/relay/telemetry"
)

// DecisionsCmd is the command "codex-bridge decisions".
type DecisionsCmd struct {
	List       listDecisionsCmd       `cmd:"" help:"List logged decisions, the newest last." example:"codex-bridge decisions list --since 24h --verdict deny"`
	Verify     verifyDecisionsCmd     `cmd:"" help:"Check that no decision is changed, missing or out of order." example:"codex-bridge decisions verify"`
	Export     exportDecisionsCmd     `cmd:"" help:"Print decisions, one in a line, for other programs." example:"codex-bridge decisions export --format ocsf --since 24h >decisions.jsonl"`
	Ship       shipDecisionsCmd       `cmd:"" help:"Send to the fleet log what it has not acknowledged." example:"codex-bridge decisions ship"`
	Checkpoint checkpointDecisionsCmd `cmd:"" help:"Print the heads of all chains of the fleet log, and one hash over them." example:"codex-bridge decisions checkpoint >checkpoint.json"`
}

type listDecisionsCmd struct {
	Since   TimeFlag `placeholder:"TIME" help:"Only decisions since a time (\"2026-03-01T09:00:00Z\") or for a duration (\"24h\")."`
	Thread  string   `help:"Only decisions of a thread."`
	Method  string   `help:"Only decisions about a method."`
	Verdict string   `help:"Only decisions with a verdict: pass, rewrite, deny, accept or missing."`
	Limit   int      `help:"The number of decisions, the newest; 0 for all." default:"50"`
	JSON    bool     `help:"Print JSON." name:"json"`

	Fleet  bool        `help:"List the fleet log and not the local one, in the order of time."`
	Source fleetSource `arg:"" optional:"" help:"With --fleet: a database (postgres://…) or a file with an export, in place of fleet.url."`
}

func (c listDecisionsCmd) Run(out io.Writer) error {
	filter := store.Filter{Since: c.Since.Time, Thread: c.Thread, Method: c.Method, Verdict: c.Verdict, Limit: c.Limit}
	if err := c.checkVerdict(); err != nil {
		return err
	}
	switch {
	case c.Limit < 0:
		return fmt.Errorf("--limit=%d: a number from 0", c.Limit)
	case c.Fleet:
		return c.listFleet(out, filter)
	case c.Source != "":
		return exit.UsageError("a source is for --fleet")
	}
	all := []listedDecision{}
	err := decisionlog.ReadState(func(ctx context.Context, s *store.Store) error {
		for e, err := range s.Decisions(ctx, filter) {
			if err != nil {
				return err
			}
			all = append(all, listedDecision{Entry: e})
		}
		return nil
	})
	if len(all) == 0 {
		c.warnMethod()
	}
	if c.JSON && (err == nil || errors.Is(err, store.ErrNotExist)) {
		if err != nil {
			output.PrintError("codex-bridge: %s", noDecisions)
		}
		return writeArray(out, all)
	}
	switch {
	case errors.Is(err, store.ErrNotExist):
		return output.PrintLine(out, noDecisions)
	case err != nil:
		return err
	}
	return writeTable(out, all)
}

// checkVerdict returns an error for a verdict that no decision has.
func (c listDecisionsCmd) checkVerdict() error {
	known := []string{string(policy.Pass), string(policy.Rewrite), string(policy.Deny), string(policy.Accept), decision.VerdictMissing}
	if c.Verdict == "" || slices.Contains(known, c.Verdict) {
		return nil
	}
	hint := strings.Join(known, ", ")
	if near := config.Nearest(c.Verdict, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return exit.UsageError(fmt.Sprintf("--verdict=%s: no decision has this verdict; %s", display.Line(c.Verdict), hint))
}

// warnMethod warns about a method that no decision has, if it is not one of Codex, of an agent, of a hook or
// of the bridge.
func (c listDecisionsCmd) warnMethod() {
	if c.Method == "" || len(compat.SidesOf(nil, c.Method)) > 0 || slices.Contains([]string{"command line", "session/request_permission"}, c.Method) ||
		strings.HasPrefix(c.Method, "hook/") || strings.HasPrefix(c.Method, "bridge/") {
		return
	}
	output.PrintError("codex-bridge: warning: --method=%s: %s", display.Line(c.Method), compat.OverrideProblem(nil, c.Method))
}

// listedDecision is an entry of the local log, or of the fleet log.
type listedDecision struct {
	decision.Entry
	found *fleet.Found // nil: of the local log
}

// line returns the entry as a line of JSON.
func (d *listedDecision) line() ([]byte, error) {
	if d.found != nil {
		return d.found.Line(), nil
	}
	return d.Line()
}

// writeArray writes the entries as one JSON array. It keeps the escapes of the hashed
// lines, which encoding/json would change.
func writeArray(out io.Writer, all []listedDecision) error {
	p := output.NewPrinter(out)
	if len(all) == 0 {
		p.Raw("[]")
	}
	for i, e := range all {
		line, err := e.line()
		if err != nil {
			return err
		}
		before, after := " ", ","
		if i == 0 {
			before = "["
		}
		if i == len(all)-1 {
			after = "]"
		}
		p.Raw("%s%s%s", before, line, after)
	}
	return p.Failure()
}

// writeTable writes two lines for each entry: the second has its rule and reason. Entries of the fleet log are
// listed with their machine and chain.
func writeTable(out io.Writer, all []listedDecision) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "no matches")
		return err
	}
	rows := decisionTable(all, true)
	if rows.Width() > output.Width() {
		rows = decisionTable(all, false)
	}
	return rows.Print(out)
}

// decisionTable returns the rows. On a narrow terminal the thread is in a line of its own, so that its id
// stays whole.
func decisionTable(all []listedDecision, wide bool) *output.Table {
	const indent = "    "
	rows := new(output.Table)
	columns := []string{"NO", "TIME", "VERDICT", "METHOD"}
	if wide {
		columns = append(columns, "THREAD")
	}
	if all[0].found != nil {
		columns = append(columns, "MACHINE", "CHAIN")
	}
	rows.Row(columns...)
	for _, e := range all {
		verdict := e.Verdict
		if e.Mode == string(config.Audit) {
			verdict += " (audit)"
		}
		cells := []string{strconv.FormatInt(e.Seq, 10), e.Time.Format(time.RFC3339), display.Line(verdict), display.Line(e.Method)}
		if wide {
			cells = append(cells, display.Line(e.Thread))
		}
		if e.found != nil {
			cells = append(cells, display.Line(e.found.Machine()), e.found.Chain[:8])
		}
		rows.Row(cells...)
		if !wide && e.Thread != "" {
			rows.Line(indent + "thread " + display.Line(e.Thread))
		}
		for _, line := range e.reasonLines(output.Width() - len(indent)) {
			rows.Line(indent + line)
		}
	}
	return rows
}

// reasonLines returns the rule and the reason in lines of at most width columns.
func (d *listedDecision) reasonLines(width int) []string {
	reason := d.Rule
	if d.Origin != "" {
		reason += " (" + d.Origin + ")"
	}
	reason = strings.Trim(reason+": "+d.Reason, ": ")
	if reason == "" {
		return nil
	}
	return follow.Wrap(display.Line(reason), width)
}

type verifyDecisionsCmd struct {
	JSON bool     `help:"Print JSON." name:"json"`
	Head headFlag `placeholder:"HEAD" help:"Check that a head that this command printed earlier, HASH or HASH:NUMBER, is still in the log."`

	Fleet      bool        `help:"Verify the fleet log and not the local one."`
	Checkpoint string      `placeholder:"FILE" help:"With --fleet: check that the heads of a checkpoint are still in the fleet log."`
	Source     fleetSource `arg:"" optional:"" help:"With --fleet: a database (postgres://…) or a file with an export, in place of fleet.url."`
}

func (c verifyDecisionsCmd) Run(out io.Writer) error {
	switch {
	case c.Fleet && c.Head.Hash != "":
		return exit.UsageError("--head is for the local log; use --checkpoint with --fleet")
	case c.Fleet:
		return verifyFleet(out, c.Source, c.Checkpoint, c.JSON)
	case c.Checkpoint != "" || c.Source != "":
		return exit.UsageError("a checkpoint and a source are for --fleet")
	}
	var head decision.Head
	err := decisionlog.ReadState(func(ctx context.Context, s *store.Store) (err error) {
		if head, err = s.Verify(ctx); err != nil {
			return err
		}
		if c.Head.Hash != "" {
			return s.CheckHead(ctx, c.Head.Head)
		}
		return nil
	})
	none := errors.Is(err, store.ErrNotExist)
	switch {
	case none && c.Head.Hash != "":
		return errors.New("the noted head is not in the log: " + noDecisions)
	case err != nil && !none:
		return err
	case c.JSON:
		verified := struct {
			Decisions int64  `json:"decisions"`
			Head      string `json:"head,omitempty"`
		}{Decisions: head.Seq}
		if !none {
			verified.Head = head.String()
		}
		return output.WriteJSON(out, verified)
	case none:
		_, err = fmt.Fprintln(out, noDecisions)
		return err
	}
	fmt.Fprintf(out, "%d decisions, none changed\nhead %s\n", head.Seq, head)
	if c.Head.Hash != "" {
		fmt.Fprintln(out, "the noted head is in the log")
	}
	return nil
}

type exportDecisionsCmd struct {
	Format string   `enum:"json,ocsf,cef" default:"json" help:"json: the lines of the log; ocsf: events of OCSF 1.8.0, class API Activity; cef: Common Event Format."`
	Since  TimeFlag `placeholder:"TIME" help:"Only decisions since a time (\"2026-03-01T09:00:00Z\") or for a duration (\"24h\")."`

	Fleet  bool        `help:"Export the fleet log and not the local one."`
	Source fleetSource `arg:"" optional:"" help:"With --fleet: a database (postgres://…) or a file with an export, in place of fleet.url."`
}

func (c exportDecisionsCmd) Run(out io.Writer) error {
	w := bufio.NewWriter(out)
	switch {
	case c.Fleet:
		return errors.Join(c.exportFleet(w), w.Flush())
	case c.Source != "":
		return exit.UsageError("a source is for --fleet")
	}
	err := decisionlog.ReadState(func(ctx context.Context, s *store.Store) error {
		for e, err := range s.Decisions(ctx, store.Filter{Since: c.Since.Time}) {
			if err != nil {
				return err
			}
			line, err := c.line(e, telemetry.LogSource{Version: buildinfo.Version})
			if err != nil {
				return err
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrNotExist) {
		output.PrintError("codex-bridge: %s", noDecisions)
		return nil
	}
	return errors.Join(err, w.Flush())
}

// line returns an entry in the format.
func (c exportDecisionsCmd) line(e decision.Entry, from telemetry.LogSource) ([]byte, error) {
	switch c.Format {
	case "ocsf":
		return json.Marshal(telemetry.OCSF(e, from))
	case "cef":
		return []byte(telemetry.CEF(e, from)), nil
	}
	return e.Line()
}

const noDecisions = "no decisions: the bridge creates the log with the first one"

// TimeFlag is a flag with a time.
type TimeFlag struct{ time.Time }

// UnmarshalText reads RFC 3339, or a duration before now.
func (m *TimeFlag) UnmarshalText(text []byte) error {
	if d, err := time.ParseDuration(string(text)); err == nil && d >= 0 {
		m.Time = time.Now().Add(-d)
		return nil
	}
	if m.Time.UnmarshalText(text) != nil {
		return fmt.Errorf("%q is neither a time such as 2026-03-01T09:00:00Z nor a duration such as 24h", text)
	}
	return nil
}

// headFlag is a flag with the head of the decision log.
type headFlag struct{ decision.Head }

// UnmarshalText reads HASH or HASH:NUMBER.
func (n *headFlag) UnmarshalText(text []byte) (err error) {
	n.Head, err = decision.ParseHead(string(text))
	return err
}
