package guard_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
)

// The user learns what the policy took away, once for each thread and kind of change. A client that
// has disabled configWarning, or that knows the bridge, gets none.
func TestNoticesOfChanges(t *testing.T) {
	const limits = "[policy]\napproval = [\"untrusted\"]\nsandbox = \"read-only\"\ngate = false\nproject_trust = \"codex\"\n"
	const opened = `
editor> {"id":$id,"method":"thread/start","params":{"cwd":"$cwd","approvalPolicy":"on-request","sandbox":"workspace-write","approvalsReviewer":"user","config":{"mcp_servers":{"x":{"command":"evil","env":{"KEY":"secret"}}}}}}
codex<  {"id":$id,"method":"thread/start","params":"$params$id"}
codex>  {"id":$id,"result":{"thread":{"id":"$thread"},"approvalPolicy":"untrusted","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$cwd","model":"gpt-5.5","runtimeWorkspaceRoots":[]}}
editor< {"id":$id,"result":"$result$id"}
`
	const notices = `editor< {"method":"configWarning","params":{"summary":"$1","details":null}}
editor< {"method":"configWarning","params":{"summary":"$2","details":null}}
editor< {"method":"configWarning","params":{"summary":"$3","details":null}}
`
	const turn = `
editor> {"id":$id,"method":"turn/start","params":{"threadId":"$thread","input":[],"approvalPolicy":"on-request"}}
codex<  {"id":$id,"method":"turn/start","params":{"threadId":"$thread","input":[],"approvalPolicy":"untrusted"}}
codex>  {"id":$id,"result":{"turn":{"id":"u"}}}
editor< {"id":$id,"result":{"turn":{"id":"u"}}}
`
	for name, test := range map[string]struct {
		optOut  string
		knows   bool
		notices bool
	}{
		"listens": {`[]`, false, true},
		"deaf":    {`["configWarning"]`, false, false},
		"knows":   {`[]`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(t)
			g := guard.New(load(t, limits), w, guard.NoRecord, slog.New(slog.DiscardHandler))
			g.SetKnowsBridge(func() bool { return test.knows })
			c := bridgetest.Start(t, g)
			step := func(script, id, thread string) string {
				return strings.NewReplacer("$id", id, "$thread", thread, "$cwd", w.StartFolder).Replace(script)
			}
			told := func(thread string) string {
				if !test.notices {
					return ""
				}
				return strings.NewReplacer("$1", "$"+thread+"a", "$2", "$"+thread+"b", "$3", "$"+thread+"c").Replace(notices)
			}
			c.Play(name, `
editor> {"id":0,"method":"initialize","params":{"capabilities":{"optOutNotificationMethods":`+test.optOut+`}}}
codex<= {"id":0,"method":"initialize","params":{"capabilities":{"optOutNotificationMethods":`+test.optOut+`}}}
codex>  {"id":0,"result":{}}
editor< {"id":0,"result":{}}
`+step(opened, "1", "t1")+told("t1")+step(opened, "2", "t2")+told("t2")+step(turn, "3", "t1"))
			c.EditorSends(`{"id":4,"method":"model/list","params":{}}`)
			c.CodexSends(`{"id":4,"result":{}}`)
			if line := <-c.EditorReceives(); !strings.HasPrefix(line, `{"id":4,`) {
				t.Errorf("a second notice: %s", line)
			}
		})
	}
}

// A user of the terminal interface learns once that a thread is read-only because of the folder, if the policy
// lets threads write. Other clients know what they send.
func TestNoticeOfReadOnlyTerminal(t *testing.T) {
	for name, test := range map[string]struct {
		client, sandbox, asks, source string
		notice                        bool
	}{
		"the terminal interface":      {"codex-tui", "workspace-write", "read-only", "user", true},
		"its thread for a title":      {"codex-tui", "workspace-write", "read-only", "thread_title", false},
		"with a sandbox":              {"codex-tui", "workspace-write", "workspace-write", "user", false},
		"under a policy that forbids": {"codex-tui", "read-only", "read-only", "user", false},
		"another client":              {"codex-tui-like", "workspace-write", "read-only", "user", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(t)
			c := bridgetest.Start(t, guard.New(load(t, "[policy]\napproval = [\"untrusted\"]\nsandbox = \""+test.sandbox+"\"\nwritable_roots = [\"${workspace}\"]\ngate = false\nproject_trust = \"codex\"\n"), w, guard.NoRecord, slog.New(slog.DiscardHandler)))
			c.Play("initialize", `
editor> {"id":0,"method":"initialize","params":{"clientInfo":{"name":"`+test.client+`","version":"1"},"capabilities":{}}}
codex<  {"id":0,"method":"initialize","params":"$hello"}
codex>  {"id":0,"result":{}}
editor< {"id":0,"result":{}}
`)
			sandbox := map[string]string{"read-only": `{"type":"readOnly","networkAccess":false}`, "workspace-write": `{"type":"workspaceWrite","networkAccess":false,"writableRoots":[],"excludeSlashTmp":false,"excludeTmpdirEnvVar":false}`}[test.asks]
			notices := 0
			for _, id := range []string{"1", "2"} {
				c.Play("thread "+id, strings.NewReplacer("$cwd", w.StartFolder, "$id", id, "$asks", test.asks, "$source", test.source, "$sandbox", sandbox).Replace(`
editor> {"id":$id,"method":"thread/start","params":{"cwd":"$cwd","approvalPolicy":"untrusted","sandbox":"$asks","approvalsReviewer":"user","threadSource":"$source"}}
codex<  {"id":$id,"method":"thread/start","params":"$params$id"}
codex>  {"id":$id,"result":{"thread":{"id":"t$id"},"approvalPolicy":"untrusted","approvalsReviewer":"user","sandbox":$sandbox,"activePermissionProfile":null,"cwd":"$cwd","model":"gpt-5.5","runtimeWorkspaceRoots":[]}}
editor< {"id":$id,"result":"$result$id"}
`))
				for _, line := range sentNotices(c) {
					if strings.Contains(line, "read-only") {
						notices++
					}
				}
			}
			if want := map[bool]int{true: 1}[test.notice]; notices != want {
				t.Errorf("%d notices, want %d", notices, want)
			}
		})
	}
}

// One message has up to eight notices, and one with the number of the others.
func TestNoticesOfOneMessageAreBounded(t *testing.T) {
	for n, more := range map[int]string{7: "", 8: "", 9: "changed 1 more settings", 12: "changed 4 more settings"} {
		w := world(t)
		c := bridgetest.Start(t, guard.New(load(t, "[policy]\napproval = [\"untrusted\"]\nsandbox = \"read-only\"\ngate = false\nproject_trust = \"codex\"\n"), w, guard.NoRecord, slog.New(slog.DiscardHandler)))
		servers := make([]string, n)
		for i := range servers {
			servers[i] = fmt.Sprintf(`"s%d":{"command":"x"}`, i)
		}
		c.Play("opened", strings.NewReplacer("$cwd", w.StartFolder, "$servers", strings.Join(servers, ",")).Replace(`
editor> {"id":1,"method":"thread/start","params":{"cwd":"$cwd","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user","config":{"mcp_servers":{$servers}}}}
codex<  {"id":1,"method":"thread/start","params":"$params"}
codex>  {"id":1,"result":{"thread":{"id":"t"},"approvalPolicy":"untrusted","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$cwd","model":"gpt-5.5","runtimeWorkspaceRoots":[]}}
editor< {"id":1,"result":"$result"}
`))
		removed, last := 0, ""
		for _, line := range sentNotices(c) {
			if last = line; strings.Contains(line, "has removed config.mcp_servers.s") {
				removed++
			}
		}
		if removed != min(n, 8) || !strings.Contains(last, more) || more == "" && !strings.Contains(last, "has removed") {
			t.Errorf("%d changes: %d notices, the last one %s", n, removed, last)
		}
	}
}

// A thread for a title is not the user's, so its changes have no notices.
func TestNoNoticesOfTitleThreads(t *testing.T) {
	for source, want := range map[string]int{"thread_title": 0, "user": 1} {
		w := world(t)
		c := bridgetest.Start(t, guard.New(load(t, "[policy]\napproval = [\"untrusted\"]\nsandbox = \"read-only\"\ngate = false\nproject_trust = \"codex\"\n"), w, guard.NoRecord, slog.New(slog.DiscardHandler)))
		c.Play(source, strings.NewReplacer("$cwd", w.StartFolder, "$source", source).Replace(`
editor> {"id":1,"method":"thread/start","params":{"cwd":"$cwd","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user","ephemeral":true,"threadSource":"$source","config":{"features.plugins":false}}}
codex<  {"id":1,"method":"thread/start","params":"$params"}
codex>  {"id":1,"result":{"thread":{"id":"t"},"approvalPolicy":"untrusted","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$cwd","model":"gpt-5.5","runtimeWorkspaceRoots":[]}}
editor< {"id":1,"result":"$result"}
`))
		if got := sentNotices(c); len(got) != want {
			t.Errorf("%s: %q", source, got)
		}
	}
}

// sentNotices returns the notices that the client has got since the last played line.
func sentNotices(c *bridgetest.Conversation) (notices []string) {
	c.EditorSends(`{"id":99,"method":"model/list","params":{}}`)
	<-c.CodexReceives()
	c.CodexSends(`{"id":99,"result":{}}`)
	for line := range c.EditorReceives() {
		if strings.HasPrefix(line, `{"id":99,`) {
			break
		}
		if strings.Contains(line, `"configWarning"`) {
			notices = append(notices, line)
		}
	}
	return notices
}

// openReadOnly requests a thread with an overlay, and answers as Codex. It returns the notices.
func openReadOnly(c *bridgetest.Conversation, cwd, config, answer string) []string {
	c.EditorSends(`{"id":1,"method":"thread/start","params":{"cwd":"` + cwd + `","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user","config":` + config + `}}`)
	c.Play("open", `codex<  {"id":1,"method":"thread/start","params":"$sent"}`)
	c.CodexSends(`{"id":1,` + strings.ReplaceAll(answer, "$cwd", cwd) + `}`)
	return sentNotices(c)
}

const (
	openedReadOnly = `"result":{"thread":{"id":"t"},"approvalPolicy":"untrusted","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$cwd","model":"gpt-5.5","runtimeWorkspaceRoots":[]}`
	refusedByCodex = `"error":{"code":-32600,"message":"no"}`
)

// A client that has disabled configWarning gets no notice of a change, nor does one that knows the
// bridge. A request that Codex refuses has none either.
func TestWhoGetsNoticesOfChanges(t *testing.T) {
	for name, test := range map[string]struct {
		optOut, answer string
		knows          bool
		want           int
	}{
		"listens": {`[]`, openedReadOnly, false, 1},
		"deaf":    {`["configWarning"]`, openedReadOnly, false, 0},
		"knows":   {`[]`, openedReadOnly, true, 0},
		"refused": {`[]`, refusedByCodex, false, 0},
	} {
		w := world(t)
		g := guard.New(load(t, readOnlyPolicy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
		g.SetKnowsBridge(func() bool { return test.knows })
		c := bridgetest.Start(t, g)
		c.EditorSends(`{"id":0,"method":"initialize","params":{"capabilities":{"optOutNotificationMethods":` + test.optOut + `}}}`)
		<-c.CodexReceives()
		c.CodexSends(`{"id":0,"result":{}}`)
		<-c.EditorReceives()
		if got := openReadOnly(c, w.StartFolder, `{"mcp_servers":{"x":{"command":"y"}}}`, test.answer); len(got) != test.want {
			t.Errorf("%s: got %q, want %d", name, got, test.want)
		}
	}
}

// The user and the decision log learn once, with the first thread that Codex opens, that the bridge
// was not tested with this Codex.
func TestNoticeOfUntestedCodex(t *testing.T) {
	const sentence = "not tested with this Codex"
	for name, test := range map[string]struct {
		sentence string
		failure  error // of the decision log
		want     int
	}{
		"untested":   {sentence, nil, 1},
		"tested":     {"", nil, 0},
		"not logged": {sentence, errors.New("disk full"), 1},
	} {
		var log lockedLog
		b := &book{err: test.failure}
		w := world(t)
		g := guard.New(load(t, readOnlyPolicy), w, b, slog.New(slog.NewTextHandler(&log, nil)))
		g.SetUntestedCodex(func() string { return test.sentence })
		c := bridgetest.Start(t, g)
		if early := append(sentNotices(c), sentNotices(c)...); len(early) > 0 {
			t.Errorf("%s: before a thread is opened: %q", name, early)
		}
		var got []string
		for i, answer := range []string{refusedByCodex, openedReadOnly, openedReadOnly} {
			notices := openReadOnly(c, w.StartFolder, `{}`, answer)
			if got = append(got, notices...); i == 0 && len(notices) > 0 {
				t.Errorf("%s: a refused thread has %q", name, notices)
			}
		}
		if len(got) != test.want || test.want > 0 && !strings.Contains(got[0], `"summary":"`+sentence+`"`) {
			t.Errorf("%s: got %q, want %d", name, got, test.want)
		}
		b.mu.Lock()
		failed := strings.Contains(log.String(), "can't be written to the decision log")
		if failed != (test.failure != nil) || test.failure == nil && len(b.entries) != test.want {
			t.Errorf("%s: logged %+v\n%s", name, b.entries, log.String())
		}
		b.mu.Unlock()
	}
}

// The user learns once that the rules do not decide where programs start although the policy asks for it: with the first
// thread, and in open threads when a policy comes that does.
func TestNoticeOfUnsupervisedPrograms(t *testing.T) {
	const why = "it came too late"
	for name, test := range map[string]struct {
		atStart, later bool // the policy asks for it
		optOut         string
		want           int
	}{
		"at the start": {true, true, "[]", 1}, "after a change": {false, true, "[]", 1}, "not at all": {false, false, "[]", 0},
		"deaf": {true, true, `["configWarning"]`, 0},
	} {
		w := world(t)
		g := guard.New(load(t, readOnlyPolicy), w, guard.NoRecord, slog.New(slog.DiscardHandler))
		var asks atomic.Bool
		g.SetUnsupervised(func(*policy.Policy) string {
			if asks.Load() {
				return why
			}
			return ""
		})
		c := bridgetest.Start(t, g)
		c.EditorSends(`{"id":0,"method":"initialize","params":{"clientInfo":{"name":"x","version":"1"},"capabilities":{"optOutNotificationMethods":` + test.optOut + `}}}`)
		<-c.CodexReceives()
		c.CodexSends(`{"id":0,"result":{}}`)
		<-c.EditorReceives()
		asks.Store(true)
		g.WarnUnsupervised(g.Policy()) // a client may drop what it gets before a thread is open
		asks.Store(test.atStart)
		got := slices.Concat(openReadOnly(c, w.StartFolder, `{}`, openedReadOnly), openReadOnly(c, w.StartFolder, `{}`, openedReadOnly))
		asks.Store(test.later)
		g.WarnUnsupervised(g.Policy())
		g.WarnUnsupervised(g.Policy())
		got = append(got, sentNotices(c)...)
		if len(got) != test.want || test.want > 0 && !strings.Contains(got[0], "not where programs start: "+why) {
			t.Errorf("%s: got %q, want %d", name, got, test.want)
		}
	}
}

// lockedLog is a log that may be read while it is written.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
