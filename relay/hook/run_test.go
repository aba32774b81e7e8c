package hook_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/relay/hook"
)

// shortTimeout is for a process that gets no answer.
const shortTimeout = time.Second

func TestRunPrintsTheAnswer(t *testing.T) {
	got := make(chan *hook.Call, 1)
	s := listen(t, hook.Options{Decide: func(ctx context.Context, c *hook.Call) hook.Answer {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("Decide's context has no deadline")
		}
		got <- c
		switch c.Event {
		case hook.PostToolUse:
			return hook.Answer{Decision: hook.Block, Reason: "hidden"}
		case hook.Stop:
			return hook.Answer{}
		}
		return hook.Answer{Decision: hook.Deny, Reason: "a <rule> & so on"}
	}})
	for _, e := range hook.Events() {
		o := ask(t, s.Socket(), e, longTimeout)
		call := <-got
		if call.Event != e || call.ToolUseID != "call-1" || string(call.Payload) != payload(e, "call-1") {
			t.Errorf("%s: asked %+v", e, call)
		}
		if o.stderr != "" || o.status != 0 {
			t.Errorf("%s: status %d, stderr %q", e, o.status, o.stderr)
		}
		switch e {
		case hook.PostToolUse:
			if o.stdout != `{"decision":"block","reason":"hidden"}`+"\n" {
				t.Errorf("%s: %q", e, o.stdout)
			}
		case hook.Stop:
			if o.stdout != "" {
				t.Errorf("%s: %q", e, o.stdout)
			}
		default:
			if reason := checkDenial(t, e, o); reason != "a <rule> & so on" {
				t.Errorf("%s: %q", e, reason)
			}
		}
	}
}

// The payload arrives byte for byte, even where a JSON encoder would escape it.
func TestRunPassesLargestPayloadUnchanged(t *testing.T) {
	const head, tail = `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":["`, `"]}`
	half := (hook.MaxPayload - len(head) - len(tail) - 3) / 2
	text := head + strings.Repeat("<", half) + `","` + strings.Repeat("&", half) + tail
	s := listen(t, hook.Options{Decide: func(_ context.Context, c *hook.Call) hook.Answer {
		if string(c.Payload) != text {
			t.Errorf("%d bytes arrived of %d", len(c.Payload), len(text))
		}
		return hook.Answer{Input: []byte(`{"long":"` + strings.Repeat("<", 1<<20) + `"}`)}
	}})
	args := []string{"--socket", s.Socket(), "--event", "pre_tool_use", "--timeout", longTimeout.String()}
	o := start(t, strings.NewReader(text), args...)()
	if len(o.stdout) < 1<<20 || o.stderr != "" || o.status != 0 {
		t.Errorf("status %d, %d bytes, stderr %q", o.status, len(o.stdout), o.stderr)
	}
}

// The bridge learns of a call whose input is too long or can't be read, so that it can log that.
// Without a bridge, such a call is denied even with --on-failure allow.
func TestRunReportsUnreadableCalls(t *testing.T) {
	calls := make(chan *hook.Call, 1)
	s := listen(t, hook.Options{Decide: func(_ context.Context, c *hook.Call) hook.Answer {
		calls <- c
		return hook.Answer{}
	}})
	reported := func() *hook.Call {
		select {
		case got := <-calls:
			return got
		default:
			return new(hook.Call)
		}
	}
	const head = `{"session_id":"s","turn_id":"t","cwd":1,"hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_input":{"command":"`
	for name, c := range map[string]struct{ input, id, want string }{
		"too long":        {head + strings.Repeat("x", hook.MaxPayload) + `"},"tool_use_id":"c"}`, "", "longer than 4194304 bytes; split the patch"},
		"a number for it": {head + `"},"tool_use_id":"c"}`, "c", "a number where cwd is a string"},
		"a member twice":  {head + `"},"tool_use_id":"c","turn_id":"other"}`, "c", "duplicate"},
	} {
		args := []string{"--event", "pre_tool_use", "--timeout", longTimeout.String(), "--on-failure", "allow", "--socket"}
		checkFailure(t, hook.PreToolUse, start(t, strings.NewReader(c.input), append(args, s.Socket())...)(), c.want)
		got := reported()
		if got.SessionID != "s" || got.TurnID != "t" || got.ToolName != "apply_patch" || got.ToolUseID != c.id || got.Unreadable == nil || !strings.Contains(got.Unreadable.Error(), c.want) {
			t.Errorf("%s: the bridge gets %+v", name, got)
		}
		checkFailure(t, hook.PreToolUse, start(t, strings.NewReader(c.input), append(args, s.Socket()+"x")...)(), c.want)
	}
	const after = `{"session_id":"s","turn_id":"t","cwd":1,"hook_event_name":"PostToolUse"}`
	checkFailure(t, hook.PostToolUse, start(t, strings.NewReader(after), "--event", "post_tool_use", "--timeout", longTimeout.String(), "--socket", s.Socket())(), "cwd")
	if got := reported(); got.Event != hook.PostToolUse || got.SessionID != "s" || got.TurnID != "t" || got.Unreadable == nil {
		t.Errorf("after a call, the bridge gets %+v", got)
	}
}

// Input that can't be read is denied even with --on-failure allow.
func TestRunDeniesUnreadableInput(t *testing.T) {
	s := listen(t, hook.Options{})
	for _, e := range hook.Events() {
		for text, word := range map[string]string{
			"{nope": "can't be read", "null": "null", "{}": "event", payload("session_start", "c"): "event",
			`{"hook_event_name":"` + e.Name() + `","cwd":1}`: "cwd",
		} {
			o := start(t, strings.NewReader(text), "--socket", s.Socket(), "--event", string(e), "--timeout", longTimeout.String(), "--on-failure", "allow")()
			checkFailure(t, e, o, word)
		}
		for _, text := range []string{"", `{"hook_event_name":"` + e.Name() + `"}`} {
			o := start(t, strings.NewReader(text), "--socket", s.Socket(), "--event", string(e), "--timeout", longTimeout.String(), "--on-failure", "allow")()
			if e.Decides() {
				checkFailure(t, e, o, "does not name the tool")
			} else if o != (awaitAnswer{}) {
				t.Errorf("%s: %+v", e, o)
			}
		}
	}
}

func TestRunTimesOutWhenDecideDoesNotReturn(t *testing.T) {
	s := listen(t, hook.Options{Decide: func(ctx context.Context, c *hook.Call) hook.Answer {
		<-ctx.Done() // too late for anything but a denial
		if c.Event == hook.PermissionRequest {
			return hook.Answer{Decision: hook.Allow}
		}
		return hook.Answer{}
	}})
	for e, o := range askAll(t, s.Socket(), shortTimeout) {
		checkFailure(t, e, o, "no answer within 800ms", s.Socket())
	}
	for e, o := range askAll(t, s.Socket(), shortTimeout, "--on-failure", "allow") {
		if o.stdout != "" || o.status != 0 || o.stderr == "" {
			t.Errorf("%s, on failure allow: %+v", e, o)
		}
	}
}

// A denial that is decided when the context ends arrives in time.
func TestDenialAfterDeadlineStillArrives(t *testing.T) {
	s := listen(t, hook.Options{Decide: func(ctx context.Context, c *hook.Call) hook.Answer {
		<-ctx.Done()
		return hook.FailureAnswer(c.Event, "the handler does not end")
	}})
	for e, o := range askAll(t, s.Socket(), shortTimeout) {
		checkDenial(t, e, o)
	}
}

func TestRunWaitsForSlowAnswer(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	s := listen(t, hook.Options{Decide: func(context.Context, *hook.Call) hook.Answer {
		close(asked)
		<-release
		return hook.Answer{Decision: hook.Deny, Reason: "at last"}
	}})
	wait := start(t, strings.NewReader(payload(hook.PreToolUse, "c")), "--socket", s.Socket(), "--event", "pre_tool_use", "--timeout", longTimeout.String())
	<-asked
	close(release)
	if reason := checkDenial(t, hook.PreToolUse, wait()); reason != "at last" {
		t.Errorf("%q", reason)
	}
}

// Codex that sends no input gets a denial; it does not count as a missing bridge.
func TestRunDeniesWhenCodexSendsNothing(t *testing.T) {
	s := listen(t, hook.Options{})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	waits := map[hook.Event]func() awaitAnswer{}
	for _, e := range hook.Events() {
		waits[e] = start(t, r, "--socket", s.Socket(), "--event", string(e), "--timeout", shortTimeout.String(), "--on-failure", "allow")
	}
	for e, wait := range waits {
		checkFailure(t, e, wait(), "codex sent no complete hook input within 800ms")
	}
}

func TestRunDeniesUnreadableInputWithoutBridge(t *testing.T) {
	for _, e := range hook.Events() {
		args := []string{"--socket", filepath.Join(folder(t), "hook.sock"), "--event", string(e), "--timeout", longTimeout.String(), "--on-failure", "allow"}
		checkFailure(t, e, start(t, strings.NewReader("{nope"), args...)(), "can't be read")
	}
}

func TestRunWithoutBridge(t *testing.T) {
	base := folder(t)
	s := listen(t, hook.Options{Folder: base})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for e, o := range askAll(t, s.Socket(), longTimeout) {
		checkFailure(t, e, o, "no bridge is at "+s.Socket(), "open the thread anew")
	}
	for e, o := range askAll(t, s.Socket(), longTimeout, "--on-failure", "allow") {
		if o.stdout != "" || o.status != 0 || o.stderr == "" {
			t.Errorf("%s, on failure allow: %+v", e, o)
		}
	}
}

// The process waits for a bridge whose socket appears a moment later.
func TestRunFindsStartingBridge(t *testing.T) {
	a := listen(t, hook.Options{Decide: denyCall})
	away := a.Socket() + ".away"
	if err := os.Rename(a.Socket(), away); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	wait := start(t, r, "--socket", a.Socket(), "--event", "pre_tool_use", "--timeout", longTimeout.String())
	if _, err := io.WriteString(w, payload(hook.PreToolUse, "call-7")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, a.Socket()); err != nil {
		t.Fatal(err)
	}
	w.Close() // the process reads until here
	if reason := checkDenial(t, hook.PreToolUse, wait()); reason != "call-7" {
		t.Errorf("%q", reason)
	}
}

func denyCall(_ context.Context, c *hook.Call) hook.Answer {
	return hook.Answer{Decision: hook.Deny, Reason: c.ToolUseID}
}

// A new bridge does not answer for the one that opened the thread.
func TestRunDoesNotUseAnotherBridge(t *testing.T) {
	base := folder(t)
	first := listen(t, hook.Options{Folder: base})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := listen(t, hook.Options{Folder: base, Decide: denyCall})
	checkFailure(t, hook.PreToolUse, ask(t, first.Socket(), hook.PreToolUse, longTimeout), "no bridge")
	if reason := checkDenial(t, hook.PreToolUse, ask(t, second.Socket(), hook.PreToolUse, longTimeout)); reason != "call-1" {
		t.Errorf("the new bridge: %q", reason)
	}
}

// A bridge is killed while it decides. The next one removes its folder.
func TestRunWhenBridgeIsKilled(t *testing.T) {
	base := folder(t)
	cmd := exec.Command(os.Args[0], "bridge", base)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line := func() string {
		text, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(text)
	}
	socket := line()
	waits := map[hook.Event]func() awaitAnswer{}
	for _, e := range hook.Events() {
		waits[e] = start(t, strings.NewReader(payload(e, "c")), "--socket", socket, "--event", string(e), "--timeout", longTimeout.String())
		if said := line(); said != "asked" {
			t.Fatal(said)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for e, wait := range waits {
		checkFailure(t, e, wait(), "ended before it answered")
	}
	for e, o := range askAll(t, socket, longTimeout) {
		checkFailure(t, e, o, "no bridge is at "+socket)
	}
	if _, err := os.Stat(socket); err != nil {
		t.Fatalf("the killed bridge left nothing to remove: %v", err)
	}
	listen(t, hook.Options{Folder: base})
	if _, err := os.Stat(filepath.Dir(socket)); !os.IsNotExist(err) {
		t.Errorf("the folder of the killed bridge is still there: %v", err)
	}
}

// Close answers processes that wait with an error, which is a denial.
func TestCloseAnswersWaitingProcesses(t *testing.T) {
	asked := make(chan struct{}, len(hook.Events()))
	s := listen(t, hook.Options{Decide: func(ctx context.Context, _ *hook.Call) hook.Answer {
		asked <- struct{}{}
		<-ctx.Done()
		return hook.Answer{}
	}})
	waits := map[hook.Event]func() awaitAnswer{}
	for _, e := range hook.Events() {
		waits[e] = start(t, strings.NewReader(payload(e, "c")), "--socket", s.Socket(), "--event", string(e), "--timeout", longTimeout.String())
		<-asked
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for e, wait := range waits {
		checkFailure(t, e, wait(), "the bridge is shutting down")
	}
	if _, err := os.Stat(filepath.Dir(s.Socket())); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestManyProcessesAtOnce(t *testing.T) {
	for _, n := range []int{40, 200} {
		// No request is answered before all have arrived.
		all := make(chan struct{})
		asked := make(chan struct{}, n)
		go func() {
			for range n {
				<-asked
			}
			close(all)
		}()
		s := listen(t, hook.Options{Decide: func(ctx context.Context, c *hook.Call) hook.Answer {
			asked <- struct{}{}
			<-all
			return denyCall(ctx, c)
		}})
		waits := map[string]func() awaitAnswer{}
		for i := range n {
			id := "call-" + strings.Repeat("i", i)
			waits[id] = start(t, strings.NewReader(payload(hook.PreToolUse, id)), "--socket", s.Socket(), "--event", "pre_tool_use", "--timeout", "5m")
		}
		for id, wait := range waits {
			if reason := checkDenial(t, hook.PreToolUse, wait()); reason != id {
				t.Errorf("%q was answered %q", id, reason)
			}
		}
	}
}
