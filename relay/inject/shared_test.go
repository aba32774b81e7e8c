package inject_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/relay/inject"
	"codex-bridge.example/rpc"
)

// A client whose hooks/list has no response, since it does not read, does not stop another client of the
// thread. A late thread/closed does not make the bridge forget the hooks of a thread that another has open.
func TestClientsDoNotWaitForEachOther(t *testing.T) {
	plan := inject.Plan{
		Events: []hook.Event{hook.PreToolUse}, Timeout: 10 * time.Second,
		Command: func(e hook.Event) string { return "relay " + string(e) },
	}
	options := inject.Options{
		Plan:       func(rpc.Value) (*inject.Plan, error) { return &plan, nil },
		Mode:       func() config.Mode { return config.Enforce },
		IsShared:   func(string) bool { return true },
		Failed:     func(context.Context, string, string, string, string) {},
		Unanswered: func(context.Context, string, string, string, string) {},
		Refuse:     refuse,
		Log:        slog.New(slog.DiscardHandler),
	}
	all := inject.New(inject.Options{})
	a, b := bridgetest.Start(t, all.Join(options)), bridgetest.Start(t, all.Join(options))
	const key = "/<session-flags>/config.toml:pre_tool_use:0:0"
	b.Bind("hash", plan.Trusted()[key])
	const asks = `
editor> {"id":2,"method":"turn/start","params":{"threadId":"t1"}}
codex<  {"id":"$list","method":"hooks/list","params":{"threadId":"t1"}}
`
	a.Play("a", `
editor> {"id":1,"method":"thread/resume","params":{"threadId":"t1"}}
codex<  {"id":"$req","method":"configRequirements/read","params":{}}
codex>  {"id":"$req","result":{"requirements":null}}
codex<  {"id":1,"method":"thread/resume","params":{"threadId":"t1","config":{"features.hooks":true,"hooks.PreToolUse":[{"hooks":[{"type":"command","command":"relay pre_tool_use","timeout":10,"async":false}]}],"hooks.state":{"/<session-flags>/config.toml:pre_tool_use:0:0":{"enabled":true,"trusted_hash":"<text>"},"<session-flags>/config.toml:pre_tool_use:0:0":{"enabled":true,"trusted_hash":"<text>"}}}}}
codex>  {"id":1,"result":{"thread":{"id":"t1"}}}
editor<= {"id":1,"result":{"thread":{"id":"t1"}}}
`+asks)
	const closed = `{"method":"thread/closed","params":{"threadId":"t1"}}`
	b.Play("b", `
editor> {"id":1,"method":"ping","params":{}}
codex<  {"id":1,"method":"ping","params":{}}
`+"codex> "+closed+"\neditor< "+closed+asks+`
codex>  {"id":"$list","result":{"data":[{"cwd":"/w","hooks":[{"key":"`+key+`","enabled":true,"trustStatus":"trusted","currentHash":"$hash"}]}]}}
codex<= {"id":2,"method":"turn/start","params":{"threadId":"t1"}}
`)
}
