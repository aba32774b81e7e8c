package codex_test

import (
	"strings"
	"testing"

	"codex-bridge/bridge/codex"
)

// What each of these does was measured on codex 0.169.0.
func TestParseArgs(t *testing.T) {
	for _, c := range []struct {
		args string // words; _ stands for an empty one
		want codex.Invocation
	}{
		{"app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"app-server --analytics-default-enabled", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"-c features.code_mode_host=true app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"-ca=1 app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"--config=a=1 app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"--enable x --disable y app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"-m app-server app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"--add-dir /x --oss --strict-config app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"--dangerously-bypass-approvals-and-sandbox app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"--unknown app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"app-server --listen stdio://", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"app-server --stdio", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"app-server --bogus", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"app-server -c proxy", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"app-server --ws-auth help", codex.Invocation{Proxy: true, Command: "app-server"}},
		// A prompt may stand before the command.
		{"hello app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"_ app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"-ix app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"--image=x app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		{"-i x -m m app-server", codex.Invocation{Proxy: true, Command: "app-server"}},
		// Not on stdio, or not serving.
		{"app-server --listen ws://127.0.0.1:1", codex.Invocation{Command: "app-server"}},
		{"app-server --listen=off", codex.Invocation{Command: "app-server"}},
		{"app-server --help", codex.Invocation{Command: "app-server"}},
		{"app-server proxy", codex.Invocation{Command: "app-server"}},
		{"app-server daemon start", codex.Invocation{Command: "app-server"}},
		{"app-server generate-json-schema --out x", codex.Invocation{Command: "app-server"}},
		{"app-server --print-startup-config", codex.Invocation{Command: "app-server"}},
		// Other commands, and none.
		{"--version", codex.Invocation{}},
		{"-V app-server", codex.Invocation{}},
		{"--help app-server", codex.Invocation{}},
		{"login status", codex.Invocation{Command: "login"}},
		{"exec app-server", codex.Invocation{Command: "exec"}},
		{"-i x app-server", codex.Invocation{}},
		{"-- app-server", codex.Invocation{}},
		{"", codex.Invocation{}},
	} {
		words := strings.Fields(c.args)
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, "_", "")
			if word != "_" {
				words[i] = word
			}
		}
		if got := codex.ParseArgs(words); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.args, got, c.want)
		}
	}
}
