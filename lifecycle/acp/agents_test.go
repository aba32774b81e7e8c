package acp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/lifecycle/acp"
)

// room is an Agents that records the updates of its children.
type room struct {
	*acp.Agents
	t       *testing.T
	dir     string
	mu      sync.Mutex
	updates []acp.Update
	changed chan struct{}
}

func newRoom(t *testing.T, o acp.Options) *room {
	t.Helper()
	r := &room{t: t, dir: t.TempDir(), changed: make(chan struct{}, 1)}
	settings := acp.Settings{Enabled: true, Default: "plain", Agents: map[string][]string{"plain": {os.Args[0], "agent"}, "gone": {r.dir + "/gone"}}}
	for _, how := range []string{"mute", "broken", "noise", "old", "login", "loads"} {
		settings.Agents[how] = []string{os.Args[0], "agent", how}
	}
	o.Settings = func() acp.Settings { return settings }
	o.Env, o.Dir, o.Version, o.Log = append(os.Environ(), "TOLD=so"), r.dir, "1", slog.New(slog.DiscardHandler)
	if o.Judge == nil {
		o.Judge = func(context.Context, acp.Ask) acp.Answer { return acp.Answer{Reason: "there is no person"} }
	}
	if o.Notify == nil {
		o.Notify = func(u acp.Update) {
			r.mu.Lock()
			r.updates = append(r.updates, u)
			r.mu.Unlock()
			select {
			case r.changed <- struct{}{}:
			default:
			}
		}
	}
	r.Agents = acp.New(o)
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

// ends waits for the end of a run. It returns the last update and the agent's text.
func (r *room) ends(run string) (acp.Update, string) {
	r.t.Helper()
	for {
		said := ""
		r.mu.Lock()
		for _, u := range r.updates {
			if u.Run != run {
				continue
			}
			if u.Kind == acp.Said {
				said += u.Text
			}
			if u.Kind.IsFinal() {
				r.mu.Unlock()
				return u, said
			}
		}
		r.mu.Unlock()
		select {
		case <-r.changed:
		case <-time.After(time.Minute):
			r.t.Fatalf("the run %s does not end", run)
		}
	}
}

// says waits until the agent's text of a run contains text.
func (r *room) says(run, text string) {
	r.t.Helper()
	for {
		said := ""
		r.mu.Lock()
		for _, u := range r.updates {
			if u.Run == run && u.Kind == acp.Said {
				said += u.Text
			}
		}
		r.mu.Unlock()
		if strings.Contains(said, text) {
			return
		}
		select {
		case <-r.changed:
		case <-time.After(time.Minute):
			r.t.Fatalf("%q is not said", text)
		}
	}
}

func (r *room) spawn(q acp.Request) acp.Result {
	r.t.Helper()
	result := r.Spawn(r.t.Context(), q, acp.Requester{})
	if result.Status != acp.Accepted || result.Child == "" || result.Run == "" {
		r.t.Fatalf("%+v", result)
	}
	return result
}

func TestRun(t *testing.T) {
	r := newRoom(t, acp.Options{})
	result := r.spawn(acp.Request{Task: "say good \nsay day, \nenv TOLD\ncwd", Agent: "Plain"})
	if !strings.HasPrefix(result.Child, "agent:plain:acp:") || result.Mode != acp.Run || result.Note == "" {
		t.Errorf("%+v", result)
	}
	end, said := r.ends(result.Run)
	if end.Kind != acp.Done || end.Stop != "end_turn" || said != "goodday,so"+r.dir {
		t.Errorf("%+v, %q", end, said)
	}
	r.Close(t.Context())
	if left := r.List(); len(left) > 0 {
		t.Errorf("%+v", left)
	}
	if late := r.Spawn(t.Context(), acp.Request{Task: "say x"}, acp.Requester{}); late.Status != acp.Failed {
		t.Errorf("%+v", late)
	}
}

func TestRunEnds(t *testing.T) {
	for _, test := range []struct{ task, agent, kind, text string }{
		{"refuse", "", "done", ""},
		{"fail no money", "", "failed", "failed: no money"},
		{"say x\ndie", "", "failed", "it has ended, exit status 3; its last words: alas"},
		{"say x", "noise", "done", ""},
		{"read /etc/passwd\nterminal ls", "", "done", ""},
	} {
		t.Run(test.task, func(t *testing.T) {
			r := newRoom(t, acp.Options{})
			result := r.spawn(acp.Request{Task: test.task, Agent: test.agent})
			end, said := r.ends(result.Run)
			if string(end.Kind) != test.kind || end.Text != test.text {
				t.Errorf("%+v", end)
			}
			if strings.HasPrefix(test.task, "read") && strings.Count(said, "is not supported") != 2 {
				t.Errorf("%q", said)
			}
		})
	}
}

func TestFailedSpawnLeavesNothing(t *testing.T) {
	for agent, want := range map[string]string{
		"gone": "no such file", "broken": "last words: no licence", "old": "version 0", "login": "uthentication", "none": "there is no agent",
	} {
		r := newRoom(t, acp.Options{})
		result := r.Spawn(t.Context(), acp.Request{Task: "say x", Agent: agent}, acp.Requester{})
		if result.Status != acp.Failed || !strings.Contains(result.Error, want) || result.Child != "" || len(r.List()) > 0 {
			t.Errorf("%s: %+v, %+v", agent, result, r.List())
		}
	}
	r := newRoom(t, acp.Options{})
	for _, q := range []acp.Request{{Task: " "}, {Task: "x", Cwd: "here"}, {Task: "x", Cwd: r.dir + "/gone"}, {Task: "x", Resume: "s0"}} {
		if result := r.Spawn(t.Context(), q, acp.Requester{}); result.Status != acp.Failed || result.Error == "" {
			t.Errorf("%+v: %+v", q, result)
		}
	}
	for _, cwd := range []string{"file:///etc", "$HOME", "-", "~", `C:\x`, "sub", "./", " /etc"} {
		want := fmt.Sprintf("cwd: %q is not an absolute path; send one such as %q", cwd, r.dir)
		if result := r.Spawn(t.Context(), acp.Request{Task: "x", Cwd: cwd}, acp.Requester{}); result.Status != acp.Failed || result.Error != want {
			t.Errorf("%s: %+v", cwd, result)
		}
	}
	slow := newRoom(t, acp.Options{Open: time.Millisecond, Grace: time.Millisecond})
	if result := slow.Spawn(t.Context(), acp.Request{Task: "x", Agent: "mute"}, acp.Requester{}); !strings.Contains(result.Error, "not opened a session after 1ms") {
		t.Errorf("%+v", result)
	}
	late := errors.New("late")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(late)
	if result := r.Spawn(ctx, acp.Request{Task: "x", Agent: "mute"}, acp.Requester{}); result.Status != acp.Failed || !strings.Contains(result.Error, "late") {
		t.Errorf("%+v", result)
	}
}

// A cancelled run ends with its agent, even if the agent ignores the cancellation.
func TestCancel(t *testing.T) {
	for _, how := range []string{"wait", "hang"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		r := newRoom(t, acp.Options{Grace: 50 * time.Millisecond})
		result := r.spawn(acp.Request{Task: "leave " + l.Addr().String() + "\n" + how})
		r.says(result.Run, how)
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if list := r.List(); len(list) != 1 || list[0].State != acp.Running || list[0].Run != result.Run {
			t.Errorf("%+v", list)
		}
		if err := r.Cancel(t.Context(), result.Child); err != nil {
			t.Error(err)
		}
		if end, _ := r.ends(result.Run); end.Kind != acp.Cancelled {
			t.Errorf("%+v", end)
		}
		if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") { // ends when what it left does
			t.Error(err)
		}
		if err := r.Cancel(t.Context(), result.Child); err == nil {
			t.Error("cancelled twice")
		}
	}
}

func TestTurnTakesTooLong(t *testing.T) {
	r := newRoom(t, acp.Options{Grace: time.Millisecond, Turn: time.Millisecond})
	if end, _ := r.ends(r.spawn(acp.Request{Task: "hang"}).Run); end.Kind != acp.Broken || !strings.Contains(end.Text, "longer than 1ms") {
		t.Errorf("%+v", end)
	}
}

func TestCloseEndsAllChildren(t *testing.T) {
	r := newRoom(t, acp.Options{Grace: 50 * time.Millisecond})
	var runs []string
	for range 3 {
		result := r.spawn(acp.Request{Task: "hang"})
		runs = append(runs, result.Run)
		r.says(result.Run, "hanging")
	}
	r.Close(t.Context())
	for _, run := range runs {
		if end, _ := r.ends(run); end.Kind != acp.Cancelled {
			t.Errorf("%+v", end)
		}
	}
	if left := r.List(); len(left) > 0 {
		t.Errorf("%+v", left)
	}
}

func TestNumberOfAgentsIsLimited(t *testing.T) {
	r := newRoom(t, acp.Options{Grace: 50 * time.Millisecond})
	for range acp.MaxAgents {
		r.spawn(acp.Request{Task: "hang"})
	}
	if result := r.Spawn(t.Context(), acp.Request{Task: "say x"}, acp.Requester{}); result.Status != acp.Failed || !strings.Contains(result.Error, "16 agents") {
		t.Errorf("%+v", result)
	}
}

// A permission request is decided by the Judge, and the answer holds once.
func TestPermission(t *testing.T) {
	var asked []acp.Ask
	r := newRoom(t, acp.Options{Judge: func(_ context.Context, a acp.Ask) acp.Answer {
		asked = append(asked, a)
		return acp.Answer{Allow: a.Command != nil && *a.Command == "ls", Reason: "so it is"}
	}})
	result := r.spawn(acp.Request{Task: "run ls\nrun rm -rf /\nedit /etc/passwd\nedit\nfetch a page\nboth /etc/shadow"})
	end, said := r.ends(result.Run)
	if end.Kind != acp.Done || said != "yesnonononono" {
		t.Errorf("%+v, %q", end, said)
	}
	for i, want := range []func(a acp.Ask) bool{
		func(a acp.Ask) bool { return *a.Command == "ls" && a.Files == nil },
		func(a acp.Ask) bool { return *a.Command == "rm -rf /" },
		func(a acp.Ask) bool { return a.Command == nil && a.Files[0] == "/etc/passwd" },
		func(a acp.Ask) bool { return a.Command == nil && a.Files[0] == "" },
		func(a acp.Ask) bool { return a.Command == nil && a.Files == nil && a.Kind == "fetch" },
		func(a acp.Ask) bool { return *a.Command == "create" && a.Files[0] == "/etc/shadow" },
	} {
		if a := asked[i]; !want(a) || a.Child != result.Child || a.Agent != "plain" || a.Cwd != r.dir || a.Behind || len(a.Line) == 0 {
			t.Errorf("%d: %+v", i, a)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	decided := 0
	for _, u := range r.updates {
		if u.Kind == acp.Decided {
			decided++
		}
	}
	if decided != 6 {
		t.Errorf("%d of 6 decisions were told", decided)
	}
}

func TestCancelRefusesOpenPermissionRequest(t *testing.T) {
	open := make(chan struct{})
	r := newRoom(t, acp.Options{Judge: func(ctx context.Context, a acp.Ask) acp.Answer {
		close(open)
		<-ctx.Done()
		return acp.Answer{Allow: true}
	}})
	result := r.spawn(acp.Request{Task: "run ls"})
	<-open
	if err := r.Cancel(t.Context(), result.Child); err != nil {
		t.Error(err)
	}
	if end, said := r.ends(result.Run); end.Kind != acp.Cancelled || strings.Contains(said, "yes") {
		t.Errorf("%+v, %q", end, said)
	}
}

// A slow reader does not block the agent and gets all updates.
func TestSlowReaderGetsAllUpdates(t *testing.T) {
	var once sync.Once
	hear, ends := make(chan struct{}), make(chan int)
	words := 0
	r := newRoom(t, acp.Options{Notify: func(u acp.Update) {
		once.Do(func() { <-hear })
		words += strings.Count(u.Text, "word ")
		if u.Kind.IsFinal() {
			ends <- words
		}
	}})
	r.spawn(acp.Request{Task: "flood"})
	close(hear)
	if got := <-ends; got != 20_000 {
		t.Errorf("%d words were heard", got)
	}
}

func TestSessionTakesTurnsUntilItIsEnded(t *testing.T) {
	r := newRoom(t, acp.Options{HasPlace: true, Grace: 50 * time.Millisecond})
	result := r.spawn(acp.Request{Task: "wait", Thread: true, Agent: "loads", Resume: "s7"})
	if result.Mode != acp.Session {
		t.Errorf("%+v", result)
	}
	r.says(result.Run, "waiting")
	second, err := r.Send(result.Child, "say two")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Cancel(t.Context(), result.Child); err != nil {
		t.Fatal(err)
	}
	if end, said := r.ends(result.Run); end.Kind != acp.Cancelled || said != "waiting" { // its history is none of this run's
		t.Errorf("%+v, %q", end, said)
	}
	if end, said := r.ends(second); end.Kind != acp.Done || said != "two" {
		t.Errorf("%+v, %q", end, said)
	}
	third, err := r.Send(result.Child, "fail in this turn")
	if err != nil {
		t.Fatal(err)
	}
	if end, _ := r.ends(third); end.Kind != acp.Broken {
		t.Errorf("%+v", end)
	}
	last, err := r.Send(result.Child, "hang")
	if err != nil {
		t.Fatal(err)
	}
	r.says(last, "hanging")
	if err := r.End(t.Context(), result.Child); err != nil {
		t.Error(err)
	}
	if end, _ := r.ends(last); end.Kind != acp.Cancelled {
		t.Errorf("%+v", end)
	}
	if _, err := r.Send(result.Child, "say x"); err == nil {
		t.Error("an ended session took a turn")
	}
	run := r.spawn(acp.Request{Task: "wait"})
	if _, err := r.Send(run.Child, "say x"); err == nil || !strings.Contains(err.Error(), "run takes no more") {
		t.Error(err)
	}
}

func TestIdleSessionEnds(t *testing.T) {
	r := newRoom(t, acp.Options{HasPlace: true, Idle: time.Millisecond})
	result := r.spawn(acp.Request{Task: "say x", Thread: true})
	r.ends(result.Run)
	for len(r.List()) > 0 {
		time.Sleep(time.Millisecond)
	}
}

// The requester gets notices of a run and its end; a log has them too.
func TestStreamToParent(t *testing.T) {
	var log journal
	r := newRoom(t, acp.Options{Journal: func(name string) (io.WriteCloser, string, error) {
		if !strings.HasPrefix(name, "agent-plain-acp-") || !strings.HasSuffix(name, ".acp-stream.jsonl") {
			t.Error(name)
		}
		return &log, "/logs/" + name, nil
	}})
	for task, want := range map[string]string{"say word\nsay  by word": "plain run completed in 0s.", "die": "plain run failed: it has ended, exit status 3; its last words: alas"} {
		log = journal{}
		result := r.Spawn(t.Context(), acp.Request{Task: task, Stream: "parent"}, acp.Requester{Session: "chat"})
		if result.Status != acp.Accepted || !strings.HasPrefix(result.Log, "/logs/agent-plain-acp-") {
			t.Fatalf("%+v", result)
		}
		r.ends(result.Run)
		for len(r.List()) > 0 { // when it is gone all has been told
			time.Sleep(time.Millisecond)
		}
		var notices []string
		r.mu.Lock()
		for _, u := range r.updates {
			if u.Kind != acp.Noticed || u.Run != result.Run {
				continue
			}
			if u.Parent != "chat" || u.Child != result.Child || !strings.HasPrefix(u.Context, "acp-spawn:"+u.Run+":") {
				t.Errorf("%+v", u)
			}
			notices = append(notices, u.Text)
		}
		r.mu.Unlock()
		if len(notices) < 1 || notices[len(notices)-1] != want && !strings.HasPrefix(want, "plain run completed") {
			t.Errorf("%q, want %q last", notices, want)
		}
		if task != "die" && !strings.Contains(strings.Join(notices, "|"), "plain: word by word|plain run completed in") {
			t.Errorf("%q", notices)
		}
		if !log.closed || strings.Count(log.String(), "\n") < 2 {
			t.Errorf("%t, %s", log.closed, log.String())
		}
	}
}

func TestRepeatedSpawnHasOneEffect(t *testing.T) {
	r := newRoom(t, acp.Options{Grace: 50 * time.Millisecond})
	results := make(chan acp.Result)
	for range 5 {
		go func() {
			results <- r.Spawn(t.Context(), acp.Request{Task: "hang", Once: "key"}, acp.Requester{})
		}()
	}
	first := <-results
	for range 4 {
		if next := <-results; next != first {
			t.Errorf("%+v, and %+v", first, next)
		}
	}
	for range 2 { // one that failed may be tried again
		if failed := r.Spawn(t.Context(), acp.Request{Task: "x", Agent: "broken", Once: "broken"}, acp.Requester{}); failed.Status != acp.Failed {
			t.Errorf("%+v", failed)
		}
	}
	if other := r.Spawn(t.Context(), acp.Request{Task: "hang", Once: "other"}, acp.Requester{}); other.Child == first.Child || len(r.List()) != 2 {
		t.Errorf("%+v, %+v", other, r.List())
	}
}
