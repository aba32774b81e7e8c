//go:build linux

package e2e_test

import (
	"strings"
	"syscall"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A client that offered the bridge gets a notification when Codex has ended, before the errors of
// its pending requests, with and without a policy. A client that ends Codex itself gets none.
func TestClientIsNotifiedThatCodexEnded(t *testing.T) {
	t.Parallel()
	const method = "bridge/upstream/exited"
	bridge := map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1}}
	for name, config := range map[string]string{"no configuration": "", "enforce": "[policy]\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: config})
			for _, offers := range []bool{true, false} {
				c := w.open(proxyArgv...)
				if offers {
					c.initialize(bridge)
				} else {
					c.initialize(nil)
				}
				mark := c.Mark()
				c.endCodex(syscall.SIGKILL)
				if !offers {
					if _, err := c.Exit(c.ctx); err != nil {
						t.Fatal(err)
					}
					if c.received(method) {
						t.Error("a client that does not know the bridge was sent " + method)
					}
					continue
				}
				c.waitFor(mark, method, func(m editor.Message) bool {
					return strings.Contains(string(m.Params), `"exitCode":null`) && m.Param("reason") == "signal: killed"
				})
			}
			// Codex 0.169 exits when it gets this message.
			c := w.open(proxyArgv...)
			c.initialize(bridge)
			mark := c.Mark()
			c.endCodex(syscall.SIGTERM)
			c.waitFor(mark, method, func(m editor.Message) bool {
				return strings.Contains(string(m.Params), `"exitCode":0`) && m.Param("reason") == "exit status 0"
			})
			c = w.open(proxyArgv...)
			c.initialize(bridge)
			if err := c.CloseInput(); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Exit(c.ctx); err != nil {
				t.Fatal(err)
			}
			if c.received(method) {
				t.Error("the client ended its input itself, and was sent " + method)
			}
		})
	}
}

// endCodex sends a signal to the app-server of the conversation.
func (c *conversation) endCodex(signal syscall.Signal) {
	c.t.Helper()
	if err := syscall.Kill(c.codexPID(), signal); err != nil {
		c.t.Fatal(err)
	}
}

// received reports whether a notification of a method has arrived.
func (c *conversation) received(method string) bool {
	for _, m := range c.Messages() {
		if !m.Sent && m.Method == method {
			return true
		}
	}
	return false
}

// Each reload sends a notification to a client that offered the bridge: the effective mode, or the
// error of the changed file.
func TestClientIsNotifiedOfReloads(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmode = \"audit\"\n"})
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1}})
	for _, test := range []struct{ config, mode, fault string }{
		{"[policy]\n", "enforce", ""},
		{"[policy]\nsandbox = \"no\"\n", "enforce", "config.toml:2:11: policy.sandbox"},
		{"[policy]\nmode = \"off\"\n", "off", ""},
	} {
		mark := c.Mark()
		c.write("config.toml", test.config)
		c.waitFor(mark, "bridge/config/changed", func(m editor.Message) bool {
			fault := m.Param("error")
			return m.Param("mode") == test.mode && (fault == "") == (test.fault == "") && strings.Contains(fault, test.fault)
		})
	}
	c.closeAndWait()
}
