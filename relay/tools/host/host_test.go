package host_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/tools/host"
)

// TestMain runs the test binary as Codex or as a tool.
func TestMain(m *testing.M) {
	bridgetest.Main(m, bridgetest.Role{Name: "tool", Run: func([]string) int {
		arguments, _ := io.ReadAll(os.Stdin)
		fmt.Printf("got %s", arguments)
		return 0
	}})
}

func start(t *testing.T, names ...string) *bridgetest.Conversation {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Tools = map[string]config.Tool{}
	for _, name := range names {
		cfg.Tools[name] = config.Tool{Description: "D", InputSchema: map[string]any{"type": "object"}, Command: []string{self, "tool"}}
	}
	f := host.New(host.Options{
		Config: cfg, Known: func() bool { return true }, Session: func(thread string) string { return thread },
		Experimental: func() bool { return false }, Forked: func() bool { return false }, Log: slog.New(slog.DiscardHandler),
	})
	f.Start()
	t.Cleanup(func() { f.Close(context.Background()) })
	return bridgetest.Start(t, f.ToolMethods(), f)
}

// Without tools all messages pass unchanged, except for what the client registers.
func TestMessagesAreUnchangedWithoutTools(t *testing.T) {
	start(t).Play("none", `
editor> {"id":1, "method":"initialize", "params":{"capabilities":{}}}
codex<= {"id":1, "method":"initialize", "params":{"capabilities":{}}}
editor> {"id":2,"method":"thread/start","params":{"dynamicTools":[ ]}}
codex<= {"id":2,"method":"thread/start","params":{"dynamicTools":[ ]}}
editor> {"id":3,"method":"bridge/tool/register","params":{"tools":[{"name":"a","description":"D","inputSchema":{"type":"object"}}]}}
editor< {"id":3,"error":{"code":-32602,"message":"<text>"}}
codex>  {"id":"c","method":"item/tool/call","params":{"threadId":"t","turnId":"u","callId":"x","tool":"a","arguments":{}}}
editor<= {"id":"c","method":"item/tool/call","params":{"threadId":"t","turnId":"u","callId":"x","tool":"a","arguments":{}}}
editor> {"id":"c","result":{"contentItems":[],"success":true}}
codex<  {"id":"c","result":{"contentItems":[],"success":true}}
codex>  {"method":"thread/readState/changed","params":{ }}
editor<= {"method":"thread/readState/changed","params":{ }}
`)
}

func TestRegisterTools(t *testing.T) {
	start(t).Play("registered", `
editor> {"id":1,"method":"initialize","params":{"capabilities":{"experimentalApi":true}}}
codex<= {"id":1,"method":"initialize","params":{"capabilities":{"experimentalApi":true}}}
editor> {"id":3,"method":"bridge/tool/register","params":{"tools":[{"name":"a","description":"D","inputSchema":{"type":"object"}}]}}
editor< {"id":3,"result":{"fingerprint":"$one"}}
editor> {"id":4,"method":"thread/start","params":{}}
codex<  {"id":4,"method":"thread/start","params":{"dynamicTools":[{"type":"function","name":"a","description":"D","inputSchema":{"type":"object"}}]}}
editor> {"id":5,"method":"thread/start","params":{"dynamicTools":[{"name":"a","description":"other","inputSchema":{}}]}}
editor< {"id":5,"error":{"code":-32602,"message":"<text>"}}
editor> {"id":6,"method":"bridge/tool/unregister","params":{"tools":[{"name":"a"}]}}
editor< {"id":6,"result":{"fingerprint":"$none"}}
editor> {"id":7,"method":"thread/start","params":{}}
codex<= {"id":7,"method":"thread/start","params":{}}
editor> {"id":8,"method":"bridge/tool/list"}
editor< {"id":8,"result":{"tools":[],"leftOut":[],"fingerprint":"$none"}}
`)
}

// The client does not see experimental messages, and only calls of its own tools.
func TestClientSeesOnlyCallsOfItsOwnTools(t *testing.T) {
	start(t, "a").Play("tools", `
editor> {"id":1,"method":"initialize","params":{"clientInfo":{},"capabilities":{"optOutNotificationMethods":["x"]}}}
codex<  {"id":1,"method":"initialize","params":{"clientInfo":{},"capabilities":{"optOutNotificationMethods":["x"],"experimentalApi":true}}}
editor> {"id":2,"method":"thread/start","params":{"dynamicTools":[{"name":"mine","description":"M","inputSchema":{}}]}}
codex<  {"id":2,"method":"thread/start","params":{"dynamicTools":[{"name":"mine","description":"M","inputSchema":{}},{"name":"a","description":"D","inputSchema":{"type":"object"}}]}}
codex>  {"id":2,"result":{"thread":{"id":"t"},"cwd":""}}
editor< {"id":2,"result":{"thread":{"id":"t"},"cwd":""}}
codex>  {"id":7,"method":"item/tool/call","params":{"threadId":"t","turnId":"u","callId":"x","namespace":null,"tool":"a","arguments":{"n":1}}}
codex<  {"id":7,"result":{"contentItems":[{"type":"inputText","text":"got {\"n\":1}\n"}],"success":true}}
codex>  {"id":8,"method":"item/tool/call","params":{"threadId":"t","turnId":"u","callId":"y","namespace":null,"tool":"mine","arguments":{}}}
editor< {"id":8,"method":"item/tool/call","params":{"threadId":"t","turnId":"u","callId":"y","namespace":null,"tool":"mine","arguments":{}}}
editor> {"id":8,"result":{"contentItems":[],"success":true}}
codex<  {"id":8,"result":{"contentItems":[],"success":true}}
codex>  {"id":9,"method":"item/tool/call","params":{"threadId":"t","turnId":"u","callId":"z","namespace":"n","tool":"a","arguments":{}}}
codex<  {"id":9,"result":{"contentItems":[{"type":"inputText","text":"<text>"}],"success":false}}
# a thread of another process: its tools are told apart by their names
codex>  {"id":10,"method":"item/tool/call","params":{"threadId":"old","turnId":"u","callId":"z","namespace":null,"tool":"a","arguments":[]}}
codex<  {"id":10,"result":{"contentItems":[{"type":"inputText","text":"got {}\n"}],"success":true}}
codex>  {"id":11,"method":"item/tool/call","params":{"threadId":"old","turnId":"u","callId":"z","namespace":null,"tool":"mine","arguments":{}}}
editor< {"id":11,"method":"item/tool/call","params":{"threadId":"old","turnId":"u","callId":"z","namespace":null,"tool":"mine","arguments":{}}}
codex>  {"method":"thread/readState/changed","params":{"threadId":"old"}}
codex>  {"id":12,"method":"currentTime/read","params":{}}
codex<  {"id":12,"error":{"code":-32600,"message":"<text>"}}
codex>  {"id":13,"method":"item/commandExecution/requestApproval","params":{"command":"ls","additionalPermissions":{}}}
editor< {"id":13,"method":"item/commandExecution/requestApproval","params":{"command":"ls"}}
`)
}

// Codex rejects a second initialize: a client that has asked for the experimental API still sees its messages.
func TestRejectedInitializeHidesNothing(t *testing.T) {
	start(t, "a").Play("rejected", `
editor> {"id":1,"method":"initialize","params":{"capabilities":{"experimentalApi":true}}}
codex<= {"id":1,"method":"initialize","params":{"capabilities":{"experimentalApi":true}}}
codex>  {"id":1,"result":{}}
editor< {"id":1,"result":{}}
editor> {"id":2,"method":"initialize","params":{}}
codex<  {"id":2,"method":"initialize","params":{"capabilities":{"experimentalApi":true}}}
codex>  {"id":2,"error":{"code":-32600,"message":"Already initialized"}}
editor< {"id":2,"error":{"code":-32600,"message":"Already initialized"}}
codex>  {"id":12,"method":"currentTime/read","params":{}}
editor< {"id":12,"method":"currentTime/read","params":{}}
`)
}

// If only the host has tools, the bridge answers calls of unknown tools.
func TestUnknownToolIsAnsweredByTheBridge(t *testing.T) {
	start(t, "a").Play("unknown", `
editor> {"id":1,"method":"initialize","params":{}}
codex<  {"id":1,"method":"initialize","params":{"capabilities":{"experimentalApi":true}}}
codex>  {"id":11,"method":"item/tool/call","params":{"threadId":"old","turnId":"u","callId":"z","namespace":null,"tool":"gone","arguments":{}}}
codex<  {"id":11,"result":{"contentItems":[{"type":"inputText","text":"<text>"}],"success":false}}
editor> {"id":2,"method":"thread/start","params":{"dynamicTools":[{"name":"a","description":"M","inputSchema":{}}]}}
editor< {"id":2,"error":{"code":-32602,"message":"<text>"}}
`)
}
