package headless

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/follow"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/inject"
	"codex-bridge.example/rpc"
)

// execRun is `codex exec` or `codex review` as a client of a bridge.
type execRun struct {
	*execOptions
	client *child.Client
	turn   *follow.ExecTurn
	output follow.ExecOptions
	out    *output.CheckedWriter
	never  bool // the policy allows the approval policy never
	// notices are sentences for the user, one for each removed argument.
	notices []string

	mu  sync.Mutex
	ids map[string]any // of the running turn
}

// RunExec runs exec or review under the policy. The error is the exit status.
func RunExec(cfg *config.Config, line argv.Line, notices []string) error {
	options, err := parseExecOptions(line)
	if err != nil {
		return err
	}
	judge, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		return exit.RefuseArgs(err.Error())
	}
	if err := options.load(os.Stdin); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	asJSON, colour := options.has("--json"), options.flags["--color"] == "always" || options.flags["--color"] != "never" && output.HasColours(os.Stderr)
	out := output.NewCheckedWriter(os.Stdout)
	output := follow.ExecOptions{
		Out: out, Err: os.Stderr, JSON: asJSON, Colour: colour, OutTerminal: output.IsTerminal(os.Stdout), ErrTerminal: output.IsTerminal(os.Stderr), OwnHooks: inject.Source,
	}
	r := &execRun{execOptions: options, out: out, notices: notices, never: judge.AcceptsApprovalName("never"), output: output, turn: follow.NewExecTurn(output)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	command := slices.Concat([]string{self}, configured.Overrides(line, len(cfg.Codex.Args)), []string{argv.AppServer})
	if os.Getenv(keyEnv) != "" {
		command = slices.Insert(command, len(command)-1, "--config", `cli_auth_credentials_store="ephemeral"`)
	}
	if options.has("--strict-config") {
		command = append(command, "--strict-config")
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	r.client, err = child.Connect(ctx, child.ClientOptions{
		Command: command, Dir: options.cwd, Env: append(os.Environ(), settings.OwnCodexEnv+"="+configured.ExecCodex), Stderr: &execLog{colour: colour},
		Grace: 2*time.Duration(cfg.Codex.ShutdownGrace) + assembly.EndGrace, MaxLine: int(cfg.Codex.MaxMessage), Handle: r.handle,
	})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- r.run(ctx) }()
	select {
	case err = <-done:
		signal.Stop(stop) // one ends this process: the bridge ends by itself
		err = errors.Join(err, r.client.Close(ctx))
	case sig := <-stop:
		signal.Stop(stop) // the next one ends this process and Codex
		if sig == os.Interrupt && r.interrupt(ctx) {
			err = errors.Join(<-done, r.client.Close(ctx))
			break
		}
		cancel()
		err = r.client.Close(ctx)
		if self, _ := os.FindProcess(os.Getpid()); self.Signal(sig) == nil {
			time.Sleep(time.Second) // the signal ends this process
		}
		return errors.Join(exit.Status(exit.Interrupted), err)
	}
	if code := r.client.ExitCode(); errors.Is(err, errNoServer) && (code == exit.Config || code == exit.NotFound) {
		return exit.Status(code) // it has said why
	}
	if errors.Is(err, errNoServer) {
		return execError("%s", strings.TrimPrefix(err.Error(), errNoServer.Error()+": "))
	}
	return err
}

// ReportEvent prints a refused command line as an event of exec, for callers that read no stderr.
func ReportEvent(out io.Writer, args []string, err error) {
	line := argv.Parse(args)
	wantsEvents := slices.ContainsFunc(line.Items, func(i argv.Item) bool { return i.Name == "--json" && i.State == argv.Valid })
	var refused *settings.RefusedArgs
	if !line.Exec() || !wantsEvents || !errors.As(err, &refused) {
		return
	}
	_ = json.NewEncoder(out).Encode(struct { // the status and stderr also say it
		Type    string `json:"type"`
		Message string `json:"message"`
	}{"error", "codex-bridge: " + display.Line(refused.Problem)})
}

// keyEnv is a variable with an API key, which exec uses and an app-server does not (measured). The
// bridge logs in with it, and Codex does not store it.
const keyEnv = "CODEX_API_KEY"

// errNoServer means that the bridge of the turn has ended.
var errNoServer = errors.New("no app-server")

// run runs the turn. The error is the exit status, or errNoServer.
func (r *execRun) run(ctx context.Context) error {
	hello, err := r.call(ctx, "initialize", map[string]any{
		"clientInfo":   map[string]any{"name": "codex_exec", "title": nil, "version": methods.Measured}, // as exec calls itself
		"capabilities": map[string]any{"experimentalApi": true},
	})
	if err != nil {
		return err
	}
	if err := r.client.Notify(ctx, "initialized", nil); err != nil {
		return fmt.Errorf("%w: %w", errNoServer, err)
	}
	if key := os.Getenv(keyEnv); key != "" {
		if _, err := r.call(ctx, "account/login/start", map[string]any{"type": "apiKey", "apiKey": key}); err != nil {
			return err
		}
	}
	opened, err := r.open(ctx)
	if err != nil {
		return err
	}
	// The guard lets a client read the configuration of folders with threads only.
	thread := follow.ExecThread{Settings: opened, Config: r.config(ctx, map[string]any{"cwd": r.cwd}), Prompt: r.summary, TempDir: os.Getenv("TMPDIR")}
	thread.ID, _ = opened.Get("thread").Get("id").Text()
	agent, _ := hello.Get("userAgent").Text()
	_, agent, _ = strings.Cut(agent, "/")
	thread.Version, _, _ = strings.Cut(agent, " ")
	if r.text != nil {
		thread.Prompt = *r.text
	}
	r.turn.Opened(thread)
	for _, text := range r.notices {
		raw, err := json.Marshal(map[string]any{"summary": text, "details": nil})
		if err != nil {
			return err
		}
		notice, err := rpc.ParseValue(raw)
		if err != nil {
			return err
		}
		r.turn.Show("configWarning", notice.Root())
	}
	if r.text != nil || r.target != nil {
		if err := r.start(ctx, thread.ID); err != nil {
			return err
		}
		select {
		case <-r.turn.Done():
		case <-r.client.Done():
			return fmt.Errorf("%w: %w", errNoServer, r.client.Err())
		}
	}
	failed := r.writeLast()
	if !r.turn.End() {
		return exit.Status(exit.Failed)
	}
	if failed != nil {
		return failed
	}
	if err := r.out.Failure(); err != nil {
		return execError("the output can't be written: %s", systemError(err))
	}
	return exit.Status(0)
}

// call sends a request. Its error is printed, or errNoServer.
func (r *execRun) call(ctx context.Context, method string, params any) (rpc.Value, error) {
	result, err := r.client.Call(ctx, method, params)
	var refused *rpc.Error
	switch {
	case errors.As(err, &refused):
		return result, execError("%s: %s failed: %s (code %d)", method, method, follow.StripControls(refused.Message), refused.Code)
	case err != nil:
		return result, fmt.Errorf("%w: %w", errNoServer, err)
	}
	return result, nil
}

// start starts the turn.
func (r *execRun) start(ctx context.Context, thread string) error {
	method, params := "review/start", map[string]any{"threadId": thread, "target": r.target}
	if r.target == nil {
		method = "turn/start"
		var input []any
		for _, image := range r.images {
			input = append(input, map[string]any{"type": "localImage", "path": image})
		}
		params = map[string]any{"threadId": thread, "input": append(input, map[string]any{"type": "text", "text": *r.text, "text_elements": []any{}})}
		if r.schema != nil {
			params["outputSchema"] = r.schema
		}
		if program, ok := r.flags["--cyber-access-program"]; ok {
			params["cyberAccessProgram"] = program
		}
	}
	result, err := r.call(ctx, method, params)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.ids = map[string]any{"threadId": thread}
	r.ids["turnId"], _ = result.Get("turn").Get("id").Text()
	r.mu.Unlock()
	r.turn.Started(fmt.Sprint(r.ids["turnId"]), r.target != nil)
	return nil
}

// interrupt interrupts the turn. It returns false if the turn has not started.
func (r *execRun) interrupt(ctx context.Context) bool {
	r.mu.Lock()
	ids := r.ids
	r.mu.Unlock()
	if ids == nil {
		return false
	}
	for { // Codex refuses the request until turn/started
		if _, err := r.client.Call(ctx, "turn/interrupt", ids); err == nil {
			return true
		}
		select {
		case <-time.After(interruptRetry):
		case <-r.turn.Done():
			return true
		case <-r.client.Done():
			return true
		}
	}
}

// handle prints notifications, and refuses requests: exec has no person to ask. After an error the model does not read
// that the user has rejected the call.
func (r *execRun) handle(_ context.Context, m *child.Message) {
	if !m.IsRequest() {
		r.turn.Show(m.Method, m.Params)
		return
	}
	if m.Method == "mcpServer/elicitation/request" {
		_ = m.Reply(map[string]any{"action": "cancel", "content": nil, "_meta": nil}) // fails only if the bridge has ended
		return
	}
	_ = m.Refuse(rpc.Errorf(rpc.CodeUnknownMethod, "%s is not supported in exec mode", m.Method))
}

// execLog writes the log of the bridge and of Codex to stderr, without the colours that Codex always
// writes, and without the warnings of its app-server, which are notifications, too.
type execLog struct {
	colour  bool
	part    []byte
	dropped bool // the last line
}

var (
	logColours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]*m") })
	logWarning = []byte("ERROR codex_app_server: ")
)

func (l *execLog) Write(text []byte) (int, error) {
	l.part = append(l.part, text...)
	for {
		at := bytes.IndexByte(l.part, '\n') + 1
		if at == 0 {
			return len(text), nil
		}
		line, plain := l.part[:at], logColours().ReplaceAll(l.part[:at], nil)
		l.part = l.part[at:]
		if !l.colour {
			line = plain
		}
		l.dropped = bytes.Contains(plain, logWarning) || l.dropped && bytes.HasPrefix(plain, []byte("  "))
		if !l.dropped {
			_, _ = os.Stderr.Write(line)
		}
	}
}
