package policy_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// longTurn is the usual message of an editor, with the members of codex-acp 2.6.0 and a prompt of
// some lines.
var longTurn = []byte(`{"id":12,"method":"turn/start","params":{"threadId":"T","input":[{"type":"text","text":"The test \"reads a long line\" in rpc/pump_test.go fails now and then.\n\n` +
	`Please find out why, and mend it without making the buffer larger:\n\n1. run it a hundred times with -race,\n2. look at what long() leaves in the buffer when the line end is the last byte that was read,\n3. write a test that fails each time.\n\n` +
	`The last run said:\n    pump_test.go:112: got 262144 bytes, want 262145\n    pump_test.go:113: the line behind it is lost\nI think it has to do with scanned, which is not set to 0 in every case. Keep the comments as short as they are, and don't touch the sink.","text_elements":[]}],` +
	`"approvalPolicy":"on-request","approvalsReviewer":"user","sandboxPolicy":{"type":"workspaceWrite","writableRoots":[],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false},"summary":"auto","effort":"low","model":"gpt-5.4-codex","serviceTier":null}}`)

// plainState is the state of a verified thread, on a disk without links.
func plainState() policy.State {
	return policy.State{
		StartFolder: "/code/proj", Home: "/home/ada", Temps: []policy.TempFolder{{Name: "$TMPDIR", Path: "/tmp"}}, Paths: there{},
		Thread: &policy.Thread{ID: "T", Workspace: "/code/proj"},
	}
}

// BenchmarkTurn parses a client's message, and decides about it for a verified thread.
func BenchmarkTurn(b *testing.B) {
	pasted := bytes.Replace(longTurn, []byte("The last run said"), []byte(strings.Repeat(`Each line has \"quoted\" words and \u00e9scapes.\n`, 64<<10/49)), 1)
	for _, one := range []struct {
		name    string
		line    []byte
		decides bool
	}{{"parse", longTurn, false}, {"decide", longTurn, true}, {"parse-64KiB", pasted, false}} {
		b.Run(one.name, func(b *testing.B) {
			cfg := config.Default()
			cfg.Policy.Mode = config.Enforce
			p, st, parser := compile(b, cfg.Policy), plainState(), new(rpc.Parser)
			b.SetBytes(int64(len(one.line)))
			b.ReportAllocs()
			for b.Loop() {
				m, err := parser.Message(one.line, true)
				if err != nil {
					b.Fatal(err)
				}
				if one.decides {
					if d := p.Decide(m, st); d.Verdict != policy.Pass {
						b.Fatal(d.Verdict, d.Err)
					}
				}
			}
		})
	}
}

// BenchmarkManyRules decides about requests of Codex with 1,000 rules.
func BenchmarkManyRules(b *testing.B) {
	cfg := config.Default()
	cfg.Policy.Mode = config.Enforce
	for i := range 1000 {
		r := config.Rule{Decision: "deny"}
		switch i % 4 {
		case 0, 1:
			r.Command = fmt.Sprintf("tool%d run%d **", i%97, i)
		case 2:
			r.Path = fmt.Sprintf("${workspace}/kept%d/**/*.go", i)
		default:
			r.Tool = fmt.Sprintf("mcp__server%d__*", i)
		}
		cfg.Policy.Rules = append(cfg.Policy.Rules, r)
	}
	p, st := compile(b, cfg.Policy), plainState()
	st.Thread.Sandbox, st.Thread.Approval = "workspace-write", []byte(`"on-request"`)
	st.Files, st.Escalation = []string{"/code/proj/bridge/proxy.go"}, rules.Sandboxed
	for _, one := range []struct{ name, method, params string }{
		{"command", "item/commandExecution/requestApproval", `{"command":"/bin/bash -lc 'cd bridge && go test -race ./... 2>&1 | tail -20'","cwd":"/code/proj"}`},
		{"patch", "item/fileChange/requestApproval", `{"itemId":"i"}`},
		{"tool", "mcpServer/elicitation/request", `{"serverName":"tickets","_meta":{"codex_approval_kind":"mcp_tool_call","tool_name":"read"}}`},
	} {
		b.Run(one.name, func(b *testing.B) {
			params := value(b, one.params)
			b.ReportAllocs()
			for b.Loop() {
				if d := serverrequest.Decide(p, one.method, params, st); d.Verdict != policy.Pass {
					b.Fatal(d.Verdict, d.Err)
				}
			}
		})
	}
}
