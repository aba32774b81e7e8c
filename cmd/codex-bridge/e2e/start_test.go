//go:build linux

package e2e_test

import (
	"strings"
	"testing"
)

// codex-bridge does not start Codex if it can't enforce its configuration.
func TestRefusesToStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options options
		code    int
		says    string // on stderr
	}{
		"unknown key":        {options{config: "[policy]\nmode = \"enforce\"\nsandboxx = \"read-only\"\n"}, 2, "sandboxx"},
		"bad value":          {options{config: "[policy]\nmode = \"enforced\"\n"}, 2, "enforced"},
		"no TOML":            {options{config: "[policy\n"}, 2, "config.toml"},
		"no such file":       {options{env: []string{"CODEX_BRIDGE_CONFIG=/nonexistent/config.toml"}}, 2, "/nonexistent/config.toml"},
		"codex is not there": {options{codex: "/nonexistent/codex"}, 127, "/nonexistent/codex"},
		"codex is ourselves": {options{codex: proxyPath}, 127, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, test.options)
			c := w.open(proxyArgv...)
			c.Send([]byte(initializeLine))
			exit, err := c.Exit(c.ctx)
			if err != nil {
				t.Fatal(err)
			}
			c.drain()
			if exit.Code != test.code || !strings.Contains(c.Stderr(), test.says) {
				t.Errorf("%v, want %d and %q", exit, test.code, test.says)
			}
			if got := lines(c.Messages(), false); got != "" {
				t.Errorf("on stdout: %s", got)
			}
		})
	}
}
