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

	"codex-bridge/relay/hook"
)

// brief is the time of a process that gets no answer.
const brief = time.Second

func TestRelayAnswers(t *testing.T) {
	got := make(chan *hook.Call, 1)
	s := listen(t, hook.Options{Decide: func(ctx context.Context, c *hook.Call) hook.Answer {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("Decide is not told how long it may take")
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
	for _, e := range hook.Events {
		o := ask(t, s.Socket(), e, plenty)
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
			if reason := refused(t, e, o); reason != "a <rule> & so on" {
				t.Errorf("%s: %q", e, reason)
			}
		}
	}
}

// What Codex wrote arrives as it is, whatever a JSON encoder would make of it.
func TestRelayLongest(t *testing.T) {
	const head, tail = `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":["`, `"]}`
	half := (hook.MaxPayload - len(head) - len(tail) - 3) / 2
	text := head + strings.Repeat("<", half) + `","` + strings.Repeat("&", half) + tail
	s := listen(t, hook.Options{Decide: func(_ context.Context, c *hook.Call) hook.Answer {
		if string(c.Payload) != text {
			t.Errorf("%d bytes arrived of %d", len(c.Payload), len(text))
		}
		return hook.Answer{Input: []byte(`{"long":"` + strings.Repeat("<", hook.MaxPayload-20) + `"}`)}
	}})
	args := []string{"--socket", s.Socket(), "--event", "pre_tool_use", "--timeout", plenty.String()}
	o := start(t, strings.NewReader(text), args...)()
	if len(o.stdout) < hook.MaxPayload || o.stderr != "" || o.status != 0 {
		t.Errorf("status %d, %d bytes, stderr %q", o.status, len(o.stdout), o.stderr)
	}
	o = start(t, strings.NewReader(text+strings.Repeat(" ", hook.MaxPayload)), args...)()
	failed(t, hook.PreToolUse, o, "longer than 1048576 bytes")
}

// What can't be judged is denied, whatever a failure means otherwise.
func TestRelayUnreadable(t *testing.T) {
	s := listen(t, hook.Options{})
	for _, e := range hook.Events {
		for text, word := range map[string]string{
			"{nope": "can't be read", "null": "null", "{}": "event", payload("session_start", "c"): "event",
			`{"hook_event_name":"` + e.Name() + `","cwd":1}`: "cwd",
		} {
			o := start(t, strings.NewReader(text), "--socket", s.Socket(), "--event", string(e), "--timeout", plenty.String(), "--on-failure", "allow")()
			failed(t, e, o, word)
		}
		for _, text := range []string{"", `{"hook_event_name":"` + e.Name() + `"}`} {
			o := start(t, strings.NewReader(text), "--socket", s.Socket(), "--event", string(e), "--timeout", plenty.String(), "--on-failure", "allow")()
			if e.Decides() {
				failed(t, e, o, "which tool")
			} else if o != (outcome{}) {
				t.Errorf("%s: %+v", e, o)
			}
		}
	}
}

func TestRelayHung(t *testing.T) {
	s := listen(t, hook.Options{Decide: func(ctx context.Context, c *hook.Call) hook.Answer {
		<-ctx.Done() // too late for anything but a refusal
		if c.Event == hook.PermissionRequest {
			return hook.Answer{Decision: hook.Allow}
		}
		return hook.Answer{}
	}})
	for e, o := range askAll(t, s.Socket(), brief) {
		failed(t, e, o, "no answer within 800ms", s.Socket())
	}
	for e, o := range askAll(t, s.Socket(), brief, "--on-failure", "allow") {
		if o.stdout != "" || o.status != 0 || o.stderr == "" {
			t.Errorf("%s, on failure allow: %+v", e, o)
		}
	}
}

// Who gives up in time can still refuse.
func TestRelayGivesUp(t *testing.T) {
	s := listen(t, hook.Options{Decide: func(ctx context.Context, c *hook.Call) hook.Answer {
		<-ctx.Done()
		return hook.Failed(c.Event, "the handler does not end")
	}})
	for e, o := range askAll(t, s.Socket(), brief) {
		refused(t, e, o)
	}
}

// An answer that takes its time is an answer.
func TestRelaySlow(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	s := listen(t, hook.Options{Decide: func(context.Context, *hook.Call) hook.Answer {
		close(asked)
		<-release
		return hook.Answer{Decision: hook.Deny, Reason: "at last"}
	}})
	wait := start(t, strings.NewReader(payload(hook.PreToolUse, "c")), "--socket", s.Socket(), "--event", "pre_tool_use", "--timeout", plenty.String())
	<-asked
	close(release)
	if reason := refused(t, hook.PreToolUse, wait()); reason != "at last" {
		t.Errorf("%q", reason)
	}
}

// Codex that says nothing does not keep the process from a denial, nor is it a bridge
// that is not there.
func TestRelayMute(t *testing.T) {
	s := listen(t, hook.Options{})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	waits := map[hook.Event]func() outcome{}
	for _, e := range hook.Events {
		waits[e] = start(t, r, "--socket", s.Socket(), "--event", string(e), "--timeout", brief.String(), "--on-failure", "allow")
	}
	for e, wait := range waits {
		failed(t, e, wait(), "codex did not say within 800ms")
	}
}

// Nor is a call that can't be read allowed where there is no bridge.
func TestRelayGoneUnreadable(t *testing.T) {
	for _, e := range hook.Events {
		args := []string{"--socket", filepath.Join(folder(t), "hook.sock"), "--event", string(e), "--timeout", plenty.String(), "--on-failure", "allow"}
		failed(t, e, start(t, strings.NewReader("{nope"), args...)(), "can't be read")
	}
}

func TestRelayGone(t *testing.T) {
	base := folder(t)
	s := listen(t, hook.Options{Folder: base})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for e, o := range askAll(t, s.Socket(), plenty) {
		failed(t, e, o, "no bridge is at "+s.Socket(), "open the thread anew")
	}
	for e, o := range askAll(t, s.Socket(), plenty, "--on-failure", "allow") {
		if o.stdout != "" || o.status != 0 || o.stderr == "" {
			t.Errorf("%s, on failure allow: %+v", e, o)
		}
	}
}

// A bridge that starts while the process looks for it is found.
func TestRelayStarts(t *testing.T) {
	a := listen(t, hook.Options{Decide: denyCall})
	away := a.Socket() + ".away"
	if err := os.Rename(a.Socket(), away); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	wait := start(t, r, "--socket", a.Socket(), "--event", "pre_tool_use", "--timeout", plenty.String())
	if _, err := io.WriteString(w, payload(hook.PreToolUse, "call-7")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(away, a.Socket()); err != nil {
		t.Fatal(err)
	}
	w.Close() // before this the process still reads
	if reason := refused(t, hook.PreToolUse, wait()); reason != "call-7" {
		t.Errorf("%q", reason)
	}
}

func denyCall(_ context.Context, c *hook.Call) hook.Answer {
	return hook.Answer{Decision: hook.Deny, Reason: c.ToolUseID}
}

// The next bridge is not the one that the thread was opened by.
func TestRelayRestarted(t *testing.T) {
	base := folder(t)
	first := listen(t, hook.Options{Folder: base})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := listen(t, hook.Options{Folder: base, Decide: denyCall})
	failed(t, hook.PreToolUse, ask(t, first.Socket(), hook.PreToolUse, plenty), "no bridge")
	if reason := refused(t, hook.PreToolUse, ask(t, second.Socket(), hook.PreToolUse, plenty)); reason != "call-1" {
		t.Errorf("the new bridge: %q", reason)
	}
}

// A bridge that is killed while it decides; what it leaves behind, the next one removes.
func TestRelayKilled(t *testing.T) {
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
	waits := map[hook.Event]func() outcome{}
	for _, e := range hook.Events {
		waits[e] = start(t, strings.NewReader(payload(e, "c")), "--socket", socket, "--event", string(e), "--timeout", plenty.String())
		if said := line(); said != "asked" {
			t.Fatal(said)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	for e, wait := range waits {
		failed(t, e, wait(), "ended before it answered")
	}
	for e, o := range askAll(t, socket, plenty) {
		failed(t, e, o, "no bridge is at "+socket)
	}
	if _, err := os.Stat(socket); err != nil {
		t.Fatalf("the killed bridge left nothing to remove: %v", err)
	}
	listen(t, hook.Options{Folder: base})
	if _, err := os.Stat(filepath.Dir(socket)); !os.IsNotExist(err) {
		t.Errorf("the folder of the killed bridge is still there: %v", err)
	}
}

// Close answers those that wait, with what denies.
func TestRelayCloses(t *testing.T) {
	asked := make(chan struct{}, len(hook.Events))
	s := listen(t, hook.Options{Decide: func(ctx context.Context, _ *hook.Call) hook.Answer {
		asked <- struct{}{}
		<-ctx.Done()
		return hook.Answer{}
	}})
	waits := map[hook.Event]func() outcome{}
	for _, e := range hook.Events {
		waits[e] = start(t, strings.NewReader(payload(e, "c")), "--socket", s.Socket(), "--event", string(e), "--timeout", plenty.String())
		<-asked
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for e, wait := range waits {
		failed(t, e, wait(), "the bridge ends")
	}
	if _, err := os.Stat(filepath.Dir(s.Socket())); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestRelayManyAtOnce(t *testing.T) {
	for _, n := range []int{40, 200} {
		// Nobody is answered before all have asked.
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
		waits := map[string]func() outcome{}
		for i := range n {
			id := "call-" + strings.Repeat("i", i)
			waits[id] = start(t, strings.NewReader(payload(hook.PreToolUse, id)), "--socket", s.Socket(), "--event", "pre_tool_use", "--timeout", "5m")
		}
		for id, wait := range waits {
			if reason := refused(t, hook.PreToolUse, wait()); reason != id {
				t.Errorf("%q was answered %q", id, reason)
			}
		}
	}
}
