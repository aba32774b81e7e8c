package guard_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// book is a decision log in memory; with err it stores nothing.
type book struct {
	mu      sync.Mutex
	entries []decision.Record
	err     error
}

func (b *book) Append(_ context.Context, d decision.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.entries = append(b.entries, d)
	}
	return b.err
}

const readOnlyPolicy = "[policy]\ngate = false\nsandbox = \"read-only\"\napproval = [\"untrusted\"]\nproject_trust = \"codex\"\n"

// Each decision that changes or refuses a message is logged before its effect, with the hash of the
// message and without its content. A message that passes is not logged.
func TestRecord(t *testing.T) {
	var b book
	w := world(t)
	log := slog.New(slog.DiscardHandler)
	g := guard.New(load(t, readOnlyPolicy), w, &b, log)
	c := bridgetest.Start(t, hello.New("1", codexVersion("0.169.0"), g, log), g)
	c.Bind("start", w.StartFolder)
	refused := `{"id":3,"method":"fs/writeFile","params":{"path":"/x","dataBase64":"c2VjcmV0"}}`
	c.Play("record", `
editor> {"id":1,"method":"initialize","params":{"clientInfo":{"name":"ed","version":"2"}}}
codex<= {"id":1,"method":"initialize","params":{"clientInfo":{"name":"ed","version":"2"}}}
editor> {"id":2,"method":"model/list","params":{}}
codex<= {"id":2,"method":"model/list","params":{}}
editor> `+refused+`
editor< {"id":3,"error":{"code":-32010,"message":"<text>","data":"$data"}}
editor> {"id":4,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":4,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"untrusted","sandbox":"read-only","approvalsReviewer":"user"}}
codex>  {"id":4,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$start","model":"gpt-5.5"}}
editor< {"id":4,"error":{"code":-32013,"message":"<text>","data":"$unlike"}}
editor> {"id":5,"method":"turn/start","params":{"threadId":"t1","input":[]}}
editor< {"id":5,"error":{"code":-32013,"message":"<text>","data":"$unverified"}}
`)
	want := []decision.Record{
		{Client: "ed 2", Method: "fs/writeFile", Mode: "enforce", Verdict: "deny", Rule: "policy.methods", CanWait: true},
		{Client: "ed 2", Method: "thread/start", Mode: "enforce", Verdict: "rewrite", Rule: "policy.approval", Fields: []string{"params.approvalPolicy"}},
		{Client: "ed 2", Method: "thread/start", Thread: "t1", Mode: "enforce", Verdict: "deny", Rule: "policy.approval", Fields: []string{"result.approvalPolicy"}, CanWait: true},
		{Client: "ed 2", Method: "turn/start", Thread: "t1", Mode: "enforce", Verdict: "deny", Rule: "policy.mode", Fields: []string{"params.threadId"}, CanWait: true},
	}
	if diff := cmp.Diff(want, b.entries, cmpopts.IgnoreFields(decision.Record{}, "Time", "Reason", "Origin", "Message")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if b.entries[0].Message != decision.Sum([]byte(refused)) {
		t.Errorf("the hash is that of another message: %s", b.entries[0].Message)
	}
	for _, e := range b.entries {
		if e.Reason == "" || e.Origin == "" || time.Since(e.Time) < 0 || e.Message == "" {
			t.Errorf("an entry without words: %+v", e)
		}
	}
}

// If a decision can't be logged, neither a rewritten request nor a rewritten response is sent. A
// message that needs no log entry passes.
func TestNoRecordNoAction(t *testing.T) {
	w := world(t)
	g := guard.New(load(t, readOnlyPolicy+"escalation = \"ask\"\n"), w, &book{err: errors.New("disk full")}, slog.New(slog.DiscardHandler))
	c := bridgetest.Start(t, g)
	c.Bind("start", w.StartFolder)
	c.Play("no record", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":"$params"}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
editor< {"id":1,"error":{"code":-32010,"message":"<text>","data":{"method":"thread/start","rule":"store","reason":"<text>","hint":"<text>"}}}
editor> {"id":2,"method":"model/list","params":{}}
codex<= {"id":2,"method":"model/list","params":{}}
codex>  {"method":"item/fileChange/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"i"}}
editor< {"method":"item/fileChange/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"i","reason":"<text>"}}
editor> {"id":0,"result":{"decision":"acceptForSession"}}
codex<  {"id":0,"error":{"code":-32010,"message":"<text>","data":"$data"}}
`)
	// Under audit all messages pass.
	g.SetPolicy(load(t, readOnlyPolicy+"mode = \"audit\"\n"))
	c.Play("audit", `
editor> {"id":3,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<= {"id":3,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
`)
}

// The client is notified of a response in its place after that is logged. If an accept can't be
// logged, it does not happen, and the client is not notified.
func TestRecordAnswerRecordsBeforeItNotifies(t *testing.T) {
	asked, err := rpc.ParseEnvelope([]byte(`{"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"t"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		verdict policy.Verdict
		failure error
		told    int
	}{
		{policy.Accept, nil, 1}, {policy.Deny, nil, 1}, {policy.Accept, errors.New("disk full"), 0}, {policy.Deny, errors.New("disk full"), 1},
	} {
		b := &book{err: test.failure}
		g := guard.New(load(t, readOnlyPolicy), world(t), b, slog.New(slog.DiscardHandler))
		told := 0
		g.OnApplied(func(guard.Applied) {
			if told++; test.failure == nil && len(b.entries) != 1 {
				t.Errorf("%s: the client is told before the log is", test.verdict)
			}
		})
		err := g.RecordAnswer(t.Context(), asked, test.verdict, "approvals.remember", "for a reason", "")
		if (err != nil) != (test.failure != nil) || told != test.told {
			t.Errorf("%s, the log failing with %v: told %d times, error %v", test.verdict, test.failure, told, err)
		}
	}
}

// An entry of the decision log has the reasons of all changes.
func TestReasonsOfChanges(t *testing.T) {
	changes := []policy.Change{{Field: "params.sandbox", Rule: "policy.sandbox", Reason: "too much"}}
	if got := guard.ReasonOf(changes); got != "too much" {
		t.Error(got)
	}
	changes = append(changes, policy.Change{Field: "params.approvalPolicy", Rule: "policy.approval", Reason: "not allowed"})
	if got := guard.ReasonOf(changes); got != "params.sandbox: too much (policy.sandbox); params.approvalPolicy: not allowed (policy.approval)" {
		t.Error(got)
	}
	for range 100 {
		changes = append(changes, changes[0])
	}
	if got := guard.ReasonOf(changes); !strings.HasSuffix(got, "; and 82 more") {
		t.Error(got)
	}
}
