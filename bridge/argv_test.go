package bridge_test

import (
	"strings"
	"testing"

	"codex-bridge/bridge"
)

// What each of these does was measured on codex 0.169.0.
func TestParseArgs(t *testing.T) {
	for _, c := range []struct {
		args string // words; _ stands for an empty one
		want bridge.Invocation
	}{
		{"app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"app-server --analytics-default-enabled", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"-c features.code_mode_host=true app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"-ca=1 app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"--config=a=1 app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"--enable x --disable y app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"-m app-server app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"--add-dir /x --oss --strict-config app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"--dangerously-bypass-approvals-and-sandbox app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"--unknown app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"app-server --listen stdio://", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"app-server --stdio", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"app-server --bogus", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"app-server -c proxy", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"app-server --ws-auth help", bridge.Invocation{Proxy: true, Command: "app-server"}},
		// A prompt may stand before the command.
		{"hello app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"_ app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"-ix app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"--image=x app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		{"-i x -m m app-server", bridge.Invocation{Proxy: true, Command: "app-server"}},
		// Not on stdio, or not serving.
		{"app-server --listen ws://127.0.0.1:1", bridge.Invocation{Command: "app-server"}},
		{"app-server --listen=off", bridge.Invocation{Command: "app-server"}},
		{"app-server --help", bridge.Invocation{Command: "app-server"}},
		{"app-server proxy", bridge.Invocation{Command: "app-server"}},
		{"app-server daemon start", bridge.Invocation{Command: "app-server"}},
		{"app-server generate-json-schema --out x", bridge.Invocation{Command: "app-server"}},
		{"app-server --print-startup-config", bridge.Invocation{Command: "app-server"}},
		// Other commands, and none.
		{"--version", bridge.Invocation{}},
		{"-V app-server", bridge.Invocation{}},
		{"--help app-server", bridge.Invocation{}},
		{"login status", bridge.Invocation{Command: "login"}},
		{"exec app-server", bridge.Invocation{Command: "exec"}},
		{"-i x app-server", bridge.Invocation{}},
		{"-- app-server", bridge.Invocation{}},
		{"", bridge.Invocation{}},
	} {
		words := strings.Fields(c.args)
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, "_", "")
			if word != "_" {
				words[i] = word
			}
		}
		if got := bridge.ParseArgs(words); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.args, got, c.want)
		}
	}
}
