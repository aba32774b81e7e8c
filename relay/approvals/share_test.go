package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/rpc"
)

// fakePolicy is a policy that the test controls.
type fakePolicy struct {
	folder string
	mode   config.Mode // default: enforce
	since  time.Time   // from which remembered answers count

	mu        sync.Mutex
	escalates bool  // requests may leave the sandbox
	logErr    error // the error of RecordAnswer
	decided   []string
	accepted  []string // by the person: the ids of the questions
}

func (j *fakePolicy) Mode() config.Mode {
	if j.mode == "" {
		return config.Enforce
	}
	return j.mode
}

func (j *fakePolicy) Client() string { return "zed" }

func (j *fakePolicy) RequestFacts(string, rpc.Value, bool) string { return "{}" }

func (j *fakePolicy) Files(params rpc.Value) []string {
	if params.Get("itemId").Is("patch") {
		return []string{"/srv/a", "/srv/b"}
	}
	return nil
}

func (j *fakePolicy) Workspace(string) string { return j.folder }

func (j *fakePolicy) Sandbox(string, string) string { return "workspace-write" }

func (j *fakePolicy) Session(thread string) string { return thread }

func (j *fakePolicy) Consents(rpc.Value, toolcall.Call) bool { return true }

func (j *fakePolicy) AsksAboutMCP(string, string) bool { return true }

// AcceptsCall accepts a tool with the name allowed.
func (j *fakePolicy) AcceptsCall(_ context.Context, question *rpc.Envelope) bool {
	return question.Root().Get("params").Get("_meta").Get("tool_name").Is("allowed")
}

func (j *fakePolicy) RecordChange(_ context.Context, asked *rpc.Envelope, _ []byte, change policy.Change) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.decided = append(j.decided, fmt.Sprintf("%s %s %s", asked.ID.Raw(), change.Field, change.Rule))
}

func (j *fakePolicy) RecordNarrowed(_ context.Context, asked *rpc.Envelope, _ []byte, changes []policy.Change) {
	for _, change := range changes {
		j.RecordChange(context.Background(), asked, nil, change)
	}
}

func (j *fakePolicy) AcceptedByPerson(asked *rpc.Envelope) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.accepted = append(j.accepted, string(asked.ID.Raw()))
}

func (j *fakePolicy) WarnOnce(thread, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.decided = append(j.decided, "warned "+thread+": "+text)
}

func (j *fakePolicy) AnswerTerms(string, rpc.Value) policy.AnswerTerms {
	return policy.AnswerTerms{Since: j.since}
}

func (j *fakePolicy) RunsInSandbox(string, rpc.Value) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.escalates
}

// HasTerminal reports a terminal for the items whose ids begin with tty, and none that is known for other.
func (j *fakePolicy) HasTerminal(params rpc.Value) (has, known bool) {
	id, _ := params.Get("itemId").Text()
	return strings.HasPrefix(id, "tty"), id != "other"
}

func (j *fakePolicy) StaysInSandbox(string, rpc.Value) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.escalates
}

func (j *fakePolicy) RecordAnswer(_ context.Context, asked *rpc.Envelope, v policy.Verdict, rule, _, _ string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.decided = append(j.decided, fmt.Sprintf("%s %s %s", asked.ID.Raw(), v, rule))
	return j.logErr
}

// playShared plays a session in which the policy changes when Codex sends "leaves" or "breaks". It returns the log, the
// last n answers to Codex, and the ids of the accepted questions.
func playShared(t *testing.T, session string, n int) (record string, answers, accepted []string) {
	t.Helper()
	c, j := startShared(t, time.Hour)
	c.Play("session", session)
	answers = c.NextToCodex(n)
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.decided, "\n"), answers, j.accepted
}

// startShared starts a conversation for playShared.
func startShared(t *testing.T, timeout time.Duration) (*bridgetest.Conversation, *fakePolicy) {
	t.Helper()
	j := &fakePolicy{folder: t.TempDir()}
	current := func() config.Approvals {
		return config.Approvals{Remember: "off", TTL: config.Duration(time.Hour), Max: 8, Timeout: config.Duration(timeout)}
	}
	change := func(f func()) func(context.Context, *bridge.ServerMessage) {
		return func(context.Context, *bridge.ServerMessage) {
			j.mu.Lock()
			defer j.mu.Unlock()
			f()
		}
	}
	c := bridgetest.Start(t, approvals.New(approvals.Options{
		Approvals: current, Policy: j, Memory: approvals.NewMemory(approvals.MemoryOptions{Approvals: current}),
		Limiter: approvals.NewLimiter(), Sessions: fakeSessions{}, Record: new(discardLog), Log: slog.New(slog.DiscardHandler),
	}), changes{
		{From: bridge.Codex, Method: "leaves", HandleServer: change(func() { j.escalates = true })},
		{From: bridge.Codex, Method: "breaks", HandleServer: change(func() { j.logErr = errors.New("the disk is full") })},
	})
	c.Bind("cwd", j.folder)
	return c, j
}

type changes []bridge.Route

func (c changes) Routes() []bridge.Route { return c }

func (changes) Stage() bridge.Stage { return bridge.Last }

const begins = `editor> {"id":1,"method":"hello"}
codex<  {"id":1,"method":"hello"}
codex>  {"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"i","command":"make","cwd":"$cwd"}}
editor< {"method":"item/commandExecution/requestApproval","id":0,"params":"$make"}
codex>  {"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":"t","turnId":"u","itemId":"j","command":"make","cwd":"$cwd"}}
`

// A question is equal to another one only if nothing that runs differs: what Codex says, and whether the command gets a
// terminal. One whose call is not known is equal to none.
func TestQuestionsWithOtherMembersAreAsked(t *testing.T) {
	for more, equal := range map[string]bool{
		``: true, `,"kind":"command","environmentId":"local","approvalId":null`: true,
		`,"reason":"r","startedAtMs":7,"commandActions":[],"availableDecisions":["accept"],"proposedExecpolicyAmendment":["make"]`: true,
		`,"kind":"writeStdin"`: false, `,"environmentId":"other"`: false, `,"approvalId":"a"`: false, `,"noise":true`: true,
		`,"additionalPermissions":{"network":{"enabled":true}}`: false, `,"networkApprovalContext":{"host":"a.example","protocol":"https"}`: false,
		`tty`: false, `other`: false,
	} {
		item := "j"
		if !strings.HasPrefix(more, ",") && more != "" {
			item, more = more, ""
		}
		c, _ := startShared(t, time.Hour)
		c.Play("first", strings.Join(strings.SplitAfter(begins, "\n")[:4], ""))
		question := `{"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":"t","turnId":"u","itemId":"` + item + `","command":"make","cwd":"$cwd"` + more + "}}\n"
		asked := "editor< " + question
		if equal {
			asked = ""
		}
		c.Play(item+more, "codex>  "+question+asked+"codex>  {\"method\":\"fence\",\"params\":{}}\neditor< {\"method\":\"fence\",\"params\":{}}\n")
	}
}

// A shared consent counts only if it is logged and nothing has changed.
func TestSharedConsentMustBeLogged(t *testing.T) {
	told := func(name string) string {
		return fmt.Sprintf("codex> {\"method\":%q,\"params\":{}}\neditor< {\"method\":%[1]q,\"params\":{}}\n", name)
	}
	answered := func(decision string) string {
		return fmt.Sprintf("editor> {\"id\":0,\"result\":{\"decision\":%q}}\n", decision)
	}
	for _, test := range []struct{ name, session, first, second, record string }{
		{"allowed", told("fence") + answered("accept"), "accept", "accept", "1 accept approvals.shared"},
		{"refused", told("fence") + answered("decline"), "decline", "decline", "1 deny approvals.shared"},
		{"cancelled", told("fence") + answered("cancel"), "cancel", "cancel", "1 deny approvals.shared"},
		{"may leave the sandbox by now", told("leaves") + answered("accept"), "accept", "decline", "1 deny approvals.shared"},
		{"not on record", told("breaks") + answered("accept"), "accept", "decline", "1 accept approvals.shared"},
		{"refused, not on record", told("breaks") + answered("decline"), "decline", "decline", "1 deny approvals.shared"},
		{"not for once", told("fence") + answered("acceptForSession"), "acceptForSession", "decline",
			"warned t: " + approvals.CountsOnce(config.Approvals{Remember: "off"}, false, true) + "\n1 deny approvals.shared"},
		{"withdrawn", told("fence") + `codex> {"method":"serverRequest/resolved","params":{"threadId":"t","requestId":0}}
editor< {"method":"serverRequest/resolved","params":{"threadId":"t","requestId":0}}
`, "", "decline", "1 deny approvals.shared"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var want []string
			for id, decision := range []string{test.first, test.second} {
				if decision != "" {
					want = append(want, fmt.Sprintf(`{"id":%d,"result":{"decision":%q}}`, id, decision))
				}
			}
			record, got, accepted := playShared(t, begins+test.session, len(want))
			if test.first == "accept" != slices.Equal(accepted, []string{"0"}) || test.first != "accept" && len(accepted) > 0 {
				t.Errorf("the person has accepted %q", accepted)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("codex gets (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(test.record, record); diff != "" {
				t.Errorf("on record (-want +got)\n%s", diff)
			}
		})
	}
}

// An acceptance of the person that can't be logged does not count.
func TestAcceptanceMustBeLogged(t *testing.T) {
	j := &fakePolicy{folder: t.TempDir()}
	current := func() config.Approvals { return config.Approvals{Remember: "off", Timeout: config.Duration(time.Hour)} }
	c := bridgetest.Start(t, approvals.New(approvals.Options{
		Approvals: current, Policy: j, Memory: approvals.NewMemory(approvals.MemoryOptions{Approvals: current}),
		Limiter: approvals.NewLimiter(), Sessions: fakeSessions{}, Record: &brokenLog{errors.New("the disk is full")}, Log: slog.New(slog.DiscardHandler),
	}))
	c.Bind("cwd", j.folder)
	c.Play("accepted", strings.Join(strings.SplitAfter(begins, "\n")[:4], "")+`editor> {"id":0,"result":{"decision":"accept"}}
codex<  {"id":0,"result":{"decision":"decline"}}
`)
	if j.mu.Lock(); len(j.accepted) > 0 {
		t.Errorf("the person has accepted %q", j.accepted)
	}
	j.mu.Unlock()
}

// discardLog is a decision log that keeps nothing.
type discardLog struct{}

func (*discardLog) Append(context.Context, decision.Record) error { return nil }
