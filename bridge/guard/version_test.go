package guard_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
	"codex-bridge.example/bridge/methods"
)

// A Codex that is newer than the method table works, and the log names it.
func TestOtherVersion(t *testing.T) {
	for version, said := range map[string]bool{methods.Measured: false, "0.999.0": true, "0.168.1": false} {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		g := guard.New(load(t, readOnlyPolicy), world(t), guard.NoRecord, logger)
		c := bridgetest.Start(t, hello.New("1", codexVersion(version), g, logger), g)
		c.Play(version, `
editor> {"id":1,"method":"initialize","params":{"clientInfo":{"name":"e"}}}
codex<= {"id":1,"method":"initialize","params":{"clientInfo":{"name":"e"}}}
codex>  {"id":1,"result":{"userAgent":"e/0.169.0 (x)"}}
editor<= {"id":1,"result":{"userAgent":"e/0.169.0 (x)"}}
`)
		if got := strings.Contains(log.String(), "codex="+version); got != said {
			t.Errorf("%s: the log says %q", version, log.String())
		}
	}
}

// Codex uses the name of the first initialize in all its responses, so only the response to that one counts,
// even if Codex has refused it.
func TestOnlyFirstUserAgentIsRead(t *testing.T) {
	for _, test := range []struct{ first, want string }{
		{`"result":{"userAgent":"a/0.169.0 (x)"}`, "a: a/0.169.0 (x)"},
		{`"error":{"code":1,"message":"no"}`, ""},
	} {
		g := guard.New(load(t, readOnlyPolicy), world(t), guard.NoRecord, slog.New(slog.DiscardHandler))
		var read []string
		g.SetCodexCheck(codexVersion("0.169.0").supported)
		g.SetUserAgentReader(func(userAgent, client string) { read = append(read, client+": "+userAgent) })
		c := bridgetest.Start(t, g)
		c.Play(test.first, `
editor> {"id":1,"method":"initialize","params":{"clientInfo":{"name":"a"}}}
codex<= {"id":1,"method":"initialize","params":{"clientInfo":{"name":"a"}}}
editor> {"id":2,"method":"initialize","params":{"clientInfo":{"name":"b"}}}
codex<= {"id":2,"method":"initialize","params":{"clientInfo":{"name":"b"}}}
codex>  {"id":1,`+test.first+`}
editor<= {"id":1,`+test.first+`}
codex>  {"id":2,"result":{"userAgent":"a/0.169.0 (x)"}}
editor<= {"id":2,"result":{"userAgent":"a/0.169.0 (x)"}}
`)
		if got := strings.Join(read, ", "); got != test.want {
			t.Errorf("%s: it has read %q, want %q", test.first, got, test.want)
		}
	}
}
