package guard_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/hello"
)

// A version of Codex on which the method table was not measured works, with a warning.
func TestOtherVersion(t *testing.T) {
	for version, said := range map[string]bool{"0.169.0": false, "0.170.0": true, "0.168.1": true} {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
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
