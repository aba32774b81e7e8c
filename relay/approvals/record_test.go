package approvals_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/relay/approvals"
)

// memoryLog is a decision log that keeps the decisions, or fails.
type memoryLog struct {
	reasons []string
	modes   []string
	err     error
}

func (k *memoryLog) Append(_ context.Context, d decision.Record) error {
	k.reasons = append(k.reasons, d.Rule+": "+d.Reason)
	k.modes = append(k.modes, d.Mode)
	return k.err
}

func newConversation(t *testing.T, log *memoryLog, running string, more ...func(*approvals.Options)) (*bridgetest.Conversation, *fakePolicy) {
	t.Helper()
	j := &fakePolicy{folder: t.TempDir()}
	current := func() config.Approvals {
		return config.Approvals{Remember: "off", TTL: config.Duration(time.Hour), Max: 8, Timeout: config.Duration(time.Hour)}
	}
	o := approvals.Options{
		Approvals: current, Policy: j, Memory: approvals.NewMemory(approvals.MemoryOptions{Approvals: current}),
		Limiter: approvals.NewLimiter(), Sessions: fakeSessions{running}, Record: log, Log: slog.New(slog.DiscardHandler),
	}
	for _, change := range more {
		change(&o)
	}
	c := bridgetest.Start(t, approvals.New(o))
	c.Play("begun", `
editor> {"method":"initialized"}
codex<  {"method":"initialized"}
`)
	return c, j
}

// The bridge logs a person's consent in full before Codex receives it, and logs no refusal.
func TestPersonsConsentIsRecorded(t *testing.T) {
	log := &memoryLog{}
	c, _ := newConversation(t, log, "")
	c.Play("asked", `
codex>  {"method":"item/permissions/requestApproval","id":1,"params":{"threadId":"t","turnId":"u","permissions":{"network":{"enabled":true},"fileSystem":{"write":["/a","/b","/c","/d"]}}}}
editor< {"method":"item/permissions/requestApproval","id":1,"params":"$1"}
editor> {"id":1,"result":{"permissions":{"fileSystem":{"write":["/a","/b","/c"]}},"scope":"turn"}}
codex<  {"id":1,"result":{"permissions":{"fileSystem":{"write":["/a","/b","/c"]}},"scope":"turn"}}
codex>  {"method":"item/fileChange/requestApproval","id":2,"params":{"threadId":"t","turnId":"u","itemId":"p"}}
editor< {"method":"item/fileChange/requestApproval","id":2,"params":"$2"}
editor> {"id":2,"result":{"decision":"decline"}}
codex<  {"id":2,"result":{"decision":"decline"}}
codex>  {"method":"applyPatchApproval","id":3,"params":{"conversationId":"t","callId":"c","fileChanges":{"/a":{"type":"add","content":"secret"}}}}
editor< {"method":"applyPatchApproval","id":3,"params":"$3"}
editor> {"id":3,"result":{"decision":"approved"}}
codex<  {"id":3,"result":{"decision":"approved"}}
`)
	c.Play("asked by a server", `
codex>  {"method":"mcpServer/elicitation/request","id":4,"params":{"threadId":"t","turnId":"u","serverName":"mail","mode":"form","message":"Send it?","requestedSchema":{"type":"object","properties":{}},"_meta":{"codex_approval_kind":"mcp_tool_call","tool_title":"Send","tool_params_display":[{"name":"to","value":"everyone"}],"unknown":"x"}}}
editor< {"method":"mcpServer/elicitation/request","id":4,"params":"$4"}
editor> {"id":4,"result":{"action":"accept","content":{}}}
codex<  {"id":4,"result":{"action":"accept","content":{}}}
`)
	all := strings.Join(log.reasons, "\n")
	for _, part := range []string{`"message":"Send it?"`, `"tool_title":"Send"`, `"tool_params_display":[{"name":"to","value":"everyone"}]`} {
		if !strings.Contains(all, part) {
			t.Errorf("%s is not on record:\n%s", part, all)
		}
	}
	if len(log.reasons) != 3 || !strings.Contains(all, `["/a","/b","/c"]`) || !strings.Contains(all, `"files":{"/a":{"type":"add"}}`) || strings.Contains(all, "secret") {
		t.Errorf("on record is\n%s", all)
	}
}

func TestConsentWithoutRecordIsRefused(t *testing.T) {
	c, _ := newConversation(t, &memoryLog{err: errors.New("disk full")}, "")
	c.Play("asked", `
codex>  {"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":"t","turnId":"u","command":"ls"}}
editor< {"method":"item/commandExecution/requestApproval","id":1,"params":"$1"}
editor> {"id":1,"result":{"decision":"accept"}}
codex<  {"id":1,"result":{"decision":"decline"}}
codex>  {"method":"item/permissions/requestApproval","id":2,"params":{"threadId":"t","turnId":"u","permissions":{"network":{"enabled":true}}}}
editor< {"method":"item/permissions/requestApproval","id":2,"params":"$2"}
editor> {"id":2,"result":{"permissions":{"network":{"enabled":true}},"scope":"turn"}}
codex<  {"id":2,"result":{"permissions":{},"scope":"turn"}}
`)
}

// The log has a patch's paths even though Codex's question does not name them.
func TestConsentToPatchIsRecordedWithItsFiles(t *testing.T) {
	for _, mode := range []config.Mode{config.Enforce, config.Audit} {
		log := &memoryLog{}
		c, j := newConversation(t, log, "")
		j.mode = mode
		c.Play("asked", `
codex>  {"method":"item/fileChange/requestApproval","id":1,"params":{"threadId":"t","turnId":"u","itemId":"patch"}}
editor< {"method":"item/fileChange/requestApproval","id":1,"params":"$1"}
editor> {"id":1,"result":{"decision":"accept"}}
codex<  {"id":1,"result":{"decision":"accept"}}
`)
		if len(log.reasons) != 1 || !strings.Contains(log.reasons[0], `"files":["/srv/a","/srv/b"]`) {
			t.Errorf("%s: on record is %q", mode, log.reasons)
		}
	}
}

// Under audit a consent is logged as one that applies, but does not depend on the log. With the policy off it is
// not logged.
func TestConsentWithoutEnforcement(t *testing.T) {
	for _, test := range []struct {
		mode     config.Mode
		err      error
		recorded int
	}{{config.Audit, nil, 1}, {config.Audit, errors.New("disk full"), 1}, {config.Off, nil, 0}} {
		log := &memoryLog{err: test.err}
		c, j := newConversation(t, log, "")
		j.mode = test.mode
		c.Play("asked", `
codex>  {"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":"t","turnId":"u","command":"ls"}}
editor< {"method":"item/commandExecution/requestApproval","id":1,"params":"$1"}
editor> {"id":1,"result":{"decision":"accept"}}
codex<  {"id":1,"result":{"decision":"accept"}}
`)
		if len(log.modes) != test.recorded || test.recorded > 0 && log.modes[0] != string(config.Enforce) {
			t.Errorf("%s, %v: recorded under %q", test.mode, test.err, log.modes)
		}
	}
}

// The bridge declines a server's question that does not belong to the running turn of a session, without asking
// the person.
func TestElicitationOfAnotherTurnIsDeclined(t *testing.T) {
	c, j := newConversation(t, &memoryLog{}, "u")
	c.Play("asked", `
codex>  {"method":"mcpServer/elicitation/request","id":3,"params":{"threadId":"t","turnId":"v","serverName":"s","mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}}
codex<  {"id":3,"result":{"action":"decline","content":null,"_meta":null}}
codex>  {"method":"mcpServer/elicitation/request","id":4,"params":{"threadId":"t","turnId":null,"serverName":"s","mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}}
editor< {"method":"mcpServer/elicitation/request","id":4,"params":"$4"}
editor> {"id":4,"result":{"action":"cancel"}}
codex<  {"id":4,"result":{"action":"cancel"}}
`)
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.decided) != 1 || !strings.Contains(j.decided[0], "approvals.turn") {
		t.Errorf("on record is %q", j.decided)
	}
}

const serversQuestion = `{"threadId":"t","turnId":"u","serverName":"mail","mode":"form","message":"Delete it?","requestedSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`

// A person's answer to an MCP server's own question is logged, without the texts of the form.
func TestAnswerToServerIsRecorded(t *testing.T) {
	for _, mode := range []config.Mode{config.Enforce, config.Audit, config.Off} {
		log := &memoryLog{}
		c, j := newConversation(t, log, "")
		j.mode = mode
		c.Play("asked", `
codex>  {"method":"mcpServer/elicitation/request","id":1,"params":`+serversQuestion+`}
editor< {"method":"mcpServer/elicitation/request","id":1,"params":"$1"}
editor> {"id":1,"result":{"action":"accept","content":{"x":"my secret"},"_meta":null}}
codex<  {"id":1,"result":{"action":"accept","content":{"x":"my secret"},"_meta":null}}
codex>  {"method":"mcpServer/elicitation/request","id":2,"params":`+serversQuestion+`}
editor< {"method":"mcpServer/elicitation/request","id":2,"params":"$2"}
editor> {"id":2,"result":{"action":"decline"}}
codex<  {"id":2,"result":{"action":"decline"}}
`)
		all := strings.Join(log.reasons, "\n")
		if mode == config.Off {
			if all != "" {
				t.Errorf("off: logged is %s", all)
			}
			continue
		}
		if len(log.reasons) != 1 || !strings.Contains(all, `"answer":{"_meta":null,"action":"accept","content":["x"]}`) || !strings.Contains(all, `"message":"Delete it?"`) || strings.Contains(all, "secret") {
			t.Errorf("%s: logged is %s", mode, all)
		}
	}
	c, _ := newConversation(t, &memoryLog{err: errors.New("disk full")}, "")
	c.Play("not logged", `
codex>  {"method":"mcpServer/elicitation/request","id":1,"params":`+serversQuestion+`}
editor< {"method":"mcpServer/elicitation/request","id":1,"params":"$1"}
editor> {"id":1,"result":{"action":"accept","content":{"x":"y"}}}
codex<  {"id":1,"result":{"action":"decline","content":null,"_meta":null}}
`)
}

// The log has that a question was declined because the client knows no such questions, or has no person at all.
func TestMissingPersonIsRecorded(t *testing.T) {
	for _, test := range []struct {
		name       string
		mode       config.Mode
		unattended bool
		command    string // the answers
		server     string
		want       []string
	}{
		{"unknown to the client", config.Enforce, false, `"error":{"code":-32601,"message":"no"}`, `"error":{"code":-32601,"message":"no"}`, []string{"1 deny approvals.nobody", "2 deny approvals.nobody"}},
		{"another error", config.Enforce, false, `"error":{"code":-32603,"message":"no"}`, `"error":{"code":-32000,"message":"no"}`, nil},
		{"a person's no", config.Enforce, false, `"result":{"decision":"cancel"}`, `"result":{"action":"cancel"}`, nil},
		{"without a person", config.Enforce, true, `"result":{"decision":"cancel"}`, `"result":{"action":"cancel"}`, []string{"1 deny approvals.nobody", "2 deny approvals.nobody"}},
		{"audit", config.Audit, true, `"error":{"code":-32601,"message":"no"}`, `"result":{"action":"cancel"}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, j := newConversation(t, &memoryLog{}, "", func(o *approvals.Options) { o.Unattended = test.unattended })
			j.mode = test.mode
			c.Play("asked", `
codex>  {"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":"t","turnId":"u","command":"ls"}}
editor< {"method":"item/commandExecution/requestApproval","id":1,"params":"$1"}
editor> {"id":1,`+test.command+`}
codex<  {"id":1,`+test.command+`}
codex>  {"method":"mcpServer/elicitation/request","id":2,"params":`+serversQuestion+`}
editor< {"method":"mcpServer/elicitation/request","id":2,"params":"$2"}
editor> {"id":2,`+test.server+`}
codex<  {"id":2,`+test.server+`}
`)
			j.mu.Lock()
			defer j.mu.Unlock()
			if !slices.Equal(j.decided, test.want) {
				t.Errorf("logged is %q", j.decided)
			}
		})
	}
}
