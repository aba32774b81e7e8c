// Package featurecmd has the commands that use one feature outside a conversation: agents, images and tools.
package featurecmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/follow"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/lifecycle/acp"
)

// AcpCmd is the command "codex-bridge acp".
type AcpCmd struct {
	Spawn spawnCmd      `cmd:"" help:"Run a task and print the agent's output; its tools and decisions go to stderr." example:"codex-bridge acp spawn --agent claude \"Fix the failing test\""`
	List  listAgentsCmd `cmd:"" help:"List the configured agents." example:"codex-bridge acp list"`
}

type spawnCmd struct {
	Task    string        `arg:"" help:"The task."`
	Agent   string        `help:"The agent; by default acp.default_agent."`
	Cwd     string        `help:"The agent's folder; by default this one." placeholder:"DIR"`
	Resume  string        `help:"Continue this session of the agent." placeholder:"ID"`
	Timeout time.Duration `help:"Cancel the task after this time." default:"1h"`
	JSON    bool          `help:"Print the result of bridge/acp/spawn, then each update, as a line of JSON." name:"json"`
}

func (c spawnCmd) Run(out io.Writer) error {
	cfg, err := configured.LoadStrict()
	if err == nil {
		err = configured.RequireBundle(cfg)
	}
	if err != nil {
		return err
	}
	folder, err := exit.ExistingFolder("--cwd", c.Cwd)
	if err != nil {
		return err
	}
	record := decisionlog.New(cfg)
	g, err := configured.Setup.NewGuard(cfg, nil, record, configured.Logger(cfg))
	if err != nil {
		return err
	}
	if refused := g.RefuseCommand(context.Background(), "bridge/acp/spawn", folder); refused != nil {
		return errors.Join(refused, record.Close())
	}
	env, err := assembly.AgentEnv(cfg)
	if err != nil {
		return err
	}
	settings := assembly.AgentSettings(cfg)
	output := newAgentOutput(out, c.JSON)
	children := acp.New(acp.Options{
		Settings: func() acp.Settings { return settings }, FolderSettings: assembly.FolderAgents,
		Env: env, Dir: folder, Version: buildinfo.Version, Turn: c.Timeout, Log: configured.Logger(cfg),
		Judge: acp.Judge{Policy: g, Person: output.ask(os.Stdin, time.Duration(cfg.Approvals.Timeout))}.Decide, Notify: output.update,
	})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	result := children.Spawn(ctx, acp.Request{Task: c.Task, Agent: c.Agent, Cwd: folder, Resume: c.Resume}, acp.Requester{
		Depth: assembly.NestingDepth(), Sandboxed: inSandbox(os.Environ()),
	})
	err = output.follow(ctx, children, result)
	core.CloseTogether([]core.Part{{Grace: assembly.AgentsGrace, Close: children.Close}})
	return errors.Join(err, record.Close())
}

// inSandbox reports whether a command in Codex's sandbox started this process. Codex sets
// CODEX_SANDBOX_NETWORK_DISABLED there (measured on Linux). The check only gives a readable
// error: the sandbox holds without it.
func inSandbox(env []string) bool {
	return slices.ContainsFunc(env, func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		return strings.HasPrefix(name, "CODEX_SANDBOX") && value != ""
	})
}

// agentOutput prints the updates of a run, as text or as JSON Lines.
type agentOutput struct {
	out      io.Writer
	json     bool
	terminal bool          // the user can answer questions
	started  chan struct{} // closed when the result of the spawn was printed
	ended    chan acp.Update
	midLine  bool // the last text did not end with a newline
}

func newAgentOutput(out io.Writer, asJSON bool) *agentOutput {
	in, err := os.Stdin.Stat()
	words, err2 := os.Stderr.Stat()
	terminal := err == nil && err2 == nil && in.Mode()&words.Mode()&os.ModeCharDevice != 0
	return &agentOutput{out: out, json: asJSON, terminal: terminal && !asJSON, started: make(chan struct{}), ended: make(chan acp.Update, 1)}
}

// follow prints the result of a spawn and waits until an accepted run ends. The end of ctx
// cancels the run.
func (s *agentOutput) follow(ctx context.Context, children *acp.Agents, r acp.Result) error {
	if s.json {
		_ = json.NewEncoder(s.out).Encode(r) // the reader may be gone
	}
	close(s.started)
	if r.Status != acp.Accepted {
		if s.json {
			return exit.Status(exit.Failed)
		}
		return fmt.Errorf("%s: %s", r.Status, r.Error)
	}
	var end acp.Update
	select {
	case end = <-s.ended:
	case <-ctx.Done():
		_ = children.Cancel(context.WithoutCancel(ctx), r.Child) // an ended run has sent its last update
		end = <-s.ended
	}
	switch {
	case end.Kind == acp.Done && end.Stop == "end_turn":
		return nil
	case s.json:
		return exit.Status(exit.Failed)
	case end.Kind == acp.Done:
		return fmt.Errorf("the agent ended its turn: %s", end.Stop)
	}
	return fmt.Errorf("%s: %s", end.Kind, end.Text)
}

// update prints an update. Only one goroutine calls it.
func (s *agentOutput) update(u acp.Update) {
	<-s.started
	if s.json {
		_ = json.NewEncoder(s.out).Encode(u)
	} else {
		s.print(u)
	}
	if u.Kind.IsFinal() {
		s.ended <- u
	}
}

func (s *agentOutput) print(u acp.Update) {
	switch u.Kind {
	case acp.Said:
		fmt.Fprintf(s.out, "%s", display.Lines(u.Text))
		s.midLine = !strings.HasSuffix(u.Text, "\n")
		return
	case acp.Used:
		if u.Tool.Title == "" {
			return
		}
	case acp.Decided, acp.Done, acp.Broken, acp.Cancelled:
	default:
		return
	}
	if s.midLine {
		fmt.Fprintln(s.out)
		s.midLine = false
	}
	switch u.Kind {
	case acp.Used:
		fmt.Fprintf(os.Stderr, "· %s\n", display.Line(u.Tool.Title))
	case acp.Decided:
		fmt.Fprintf(os.Stderr, "· %s: %s\n", display.Line(u.Tool.Title), display.Line(u.Text))
	}
}

// ask returns an approver that asks the user at the terminal and reads answers from in.
// Without a terminal it denies.
func (s *agentOutput) ask(in io.Reader, wait time.Duration) acp.Approver {
	if !s.terminal {
		return func(context.Context, acp.Ask, string) acp.Answer {
			return acp.Answer{Reason: "there is no terminal to ask at"}
		}
	}
	listener := follow.Listen(in)
	var one sync.Mutex // one question at a time
	return func(ctx context.Context, a acp.Ask, why string) acp.Answer {
		one.Lock()
		defer one.Unlock()
		ctx, cancel := context.WithTimeoutCause(ctx, wait, errors.New("no answer came in time"))
		defer cancel()
		line, err := listener.Next(ctx, func() {
			fmt.Fprintf(os.Stderr, "\n%s asks: %s", display.Line(a.Agent), strings.Join(describeAsk(a), "\n"))
			if why != "" {
				fmt.Fprintf(os.Stderr, " (%s)", display.Line(why))
			}
			fmt.Fprint(os.Stderr, "\nallow it once? [y/N] ")
		})
		if err != nil {
			return acp.Answer{Reason: err.Error()}
		}
		return acp.Answer{Allow: strings.EqualFold(line, "y") || strings.EqualFold(line, "yes"), Reason: "answered at the terminal"}
	}
}

// describeAsk returns lines with the action that an agent asks about: two actions never look the same.
func describeAsk(a acp.Ask) (lines []string) {
	isKnown := a.Command != nil && *a.Command != ""
	what := a.Title
	if isKnown {
		what = *a.Command
	}
	if lines = []string{display.Quote(what)}; isKnown && strings.Contains(what, "\n") {
		lines = append([]string{"a command of several lines"}, display.Block(what)...)
	}
	if a.Kind != "" {
		lines = append(lines, "kind: "+display.Quote(a.Kind))
	}
	if a.Shell != "" {
		lines = append(lines, "shell: "+display.Quote(a.Shell))
	}
	if len(a.Files) > 0 {
		files := make([]string, len(a.Files))
		for i, name := range a.Files {
			if files[i] = display.Quote(name); name == "" {
				files[i] = "a file that it does not name"
			}
		}
		lines = append(lines, "files: "+strings.Join(files, ", "))
	}
	if a.Command != nil {
		folder := "not known"
		if a.Cwd != "" {
			folder = display.Quote(a.Cwd)
		}
		lines = append(lines, "folder: "+folder)
	}
	if len(a.Input) > 0 && (!isKnown || a.Cwd == "" || len(a.Unread) > 0 || len(a.Files) > 0) {
		lines = append(lines, "input: "+display.Exact(string(a.Input)))
	}
	return append(lines, describeContent(a)...)
}

// describeContent returns lines with what an agent shows of a call. A diff has both texts whole: the agent may give
// lines as unchanged that the file does not have.
func describeContent(a acp.Ask) (lines []string) {
	for _, c := range a.Content {
		if c.Diff == nil {
			text, _ := json.Marshal(c) // it was decoded from JSON
			lines = append(lines, "content: "+display.Exact(string(text)))
			continue
		}
		lines = append(lines, "change of "+display.Quote(c.Diff.Path))
		if c.Diff.OldText == nil {
			lines = append(lines, "the agent states no text before")
		} else {
			lines = append(append(lines, "before:"), display.Block(*c.Diff.OldText)...)
		}
		lines = append(append(lines, "after:"), display.Block(c.Diff.NewText)...)
	}
	return lines
}

type listAgentsCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c listAgentsCmd) Run(out io.Writer) error {
	cfg, err := configured.Load()
	if err != nil {
		return err
	}
	all := assembly.AgentRows(cfg)
	if c.JSON {
		return json.NewEncoder(out).Encode(map[string]any{"enabled": cfg.ACP.Enabled, "agents": all})
	}
	if len(all) == 0 {
		return output.PrintLine(out, "no agents are configured; add [acp.agents.NAME] to the configuration, see docs/guides/agents.md")
	}
	var rows output.Table
	for _, r := range all {
		rows.Row(display.Line(r.ID), display.Line(strings.Join(r.Command, " ")), agentState(r, cfg))
	}
	return rows.Print(out)
}

func agentState(r assembly.AgentRow, cfg *config.Config) string {
	switch {
	case !cfg.ACP.Enabled:
		return "switched off (acp.enabled)"
	case !r.Allowed:
		return "not in acp.allowed"
	case r.Found == "":
		return "program not found"
	case r.Default:
		return "default"
	}
	return ""
}
