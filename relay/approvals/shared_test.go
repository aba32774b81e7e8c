package approvals_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge"
	"codex-bridge/bridge/bridgetest"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/store"
	"codex-bridge/relay/approvals"
	"codex-bridge/relay/grants"
	"codex-bridge/rpc"
)

// judge is a policy that the test decides for.
type judge struct {
	folder string
	mode   config.Mode // enforce if empty

	mu      sync.Mutex
	leaves  bool  // what is asked may leave the sandbox
	broken  error // of the record
	decided []string
}

func (j *judge) Mode() config.Mode {
	if j.mode == "" {
		return config.Enforce
	}
	return j.mode
}

func (j *judge) Client() string { return "zed" }

func (j *judge) Files(params rpc.Value) []string {
	if params.Get("itemId").Is("patch") {
		return []string{"/srv/a", "/srv/b"}
	}
	return nil
}

func (j *judge) Workspace(string) string { return j.folder }

func (j *judge) Sandbox(string, string) string { return "workspace-write" }

func (j *judge) Session(thread string) string { return thread }

func (j *judge) Consents(rpc.Value, policy.ToolUse) bool { return true }

func (j *judge) Remains(string, rpc.Value) bool { return true }
func (j *judge) Stays(string, rpc.Value) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.leaves
}

func (j *judge) Settled(_ context.Context, asked *rpc.Envelope, v policy.Verdict, rule, _ string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.decided = append(j.decided, fmt.Sprintf("%s %s %s", asked.ID.Raw(), v, rule))
	return j.broken
}

// shared plays a session in which the judge changes its mind when codex says
// "leaves" or "breaks", and returns what it has put on record and the n answers that
// codex gets at the end.
func shared(t *testing.T, session string, n int) (record string, answers []string) {
	t.Helper()
	j := &judge{folder: t.TempDir()}
	current := func() config.Approvals {
		return config.Approvals{Remember: "off", TTL: config.Duration(time.Hour), Max: 8, Timeout: config.Duration(time.Hour)}
	}
	change := func(f func()) func(context.Context, *bridge.ServerMessage) {
		return func(context.Context, *bridge.ServerMessage) {
			j.mu.Lock()
			defer j.mu.Unlock()
			f()
		}
	}
	c := bridgetest.Start(t, approvals.New(approvals.Options{
		Approvals: current, Judge: j, Memory: grants.NewMemory(grants.Options{Approvals: current}),
		Limiter: grants.NewLimiter(func() time.Duration { return 0 }), Sessions: none{}, Record: new(nolog), Log: slog.New(slog.DiscardHandler),
	}), changes{
		{From: bridge.Codex, Method: "leaves", HandleServer: change(func() { j.leaves = true })},
		{From: bridge.Codex, Method: "breaks", HandleServer: change(func() { j.broken = errors.New("the disk is full") })},
	})
	c.Bind("cwd", j.folder)
	c.Play("session", session)
	answers = c.NextToCodex(n)
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Join(j.decided, "\n"), answers
}

type changes []bridge.Route

func (c changes) Routes() []bridge.Route { return c }

const begins = `editor> {"id":1,"method":"hello"}
codex<  {"id":1,"method":"hello"}
codex>  {"method":"item/commandExecution/requestApproval","id":0,"params":{"threadId":"t","turnId":"u","itemId":"i","command":"make","cwd":"$cwd"}}
editor< {"method":"item/commandExecution/requestApproval","id":0,"params":"$make"}
codex>  {"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":"t","turnId":"u","itemId":"j","command":"make","cwd":"$cwd"}}
`

// A yes counts for who waits for it when it is on record and nothing has changed.
func TestSharedYes(t *testing.T) {
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
		{"not for once", told("fence") + answered("acceptForSession"), "acceptForSession", "decline", "1 deny approvals.shared"},
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
			record, got := shared(t, begins+test.session, len(want))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("codex gets (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(test.record, record); diff != "" {
				t.Errorf("on record (-want +got)\n%s", diff)
			}
		})
	}
}

// nolog is a decision log that keeps nothing.
type nolog struct{}

func (*nolog) Append(context.Context, store.Decision) error { return nil }
