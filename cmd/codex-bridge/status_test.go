//go:build unix

package main

import (
	"strings"
	"testing"
)

// bridge/status names the files, the rules with their places, and what an approval is kept for.
func TestStatusNamesConfiguration(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	w := newAssembled(t, "[policy]\nmode = \"audit\"\n[approvals]\nremember = \"session\"\n[[policy.rule]]\ncommand = \"git push **\"\ndecision = \"deny\"\nreason = \"CI pushes.\"\n",
		func(request) (any, string) { return map[string]any{}, "" })
	w.initialize(nil)
	got := w.must("bridge/status", map[string]any{}).Get("configuration")
	for _, want := range []string{
		`"ruleCount":1`, `"command":"git push **","decision":"deny","reason":"CI pushes.","origin":"user `, `.toml:5"`, `"remember":"session","rememberMs":1800000`, `"timeoutMs":120000`,
	} {
		if !strings.Contains(string(got.Raw()), want) {
			t.Errorf("%s is missing in %s", want, got.Raw())
		}
	}
	if got.Get("files").Len() != 1 {
		t.Errorf("the files are %s", got.Get("files").Raw())
	}
}

// bridge/status counts the open threads, also without an enforced policy.
func TestStatusCountsOpenThreads(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	for _, c := range []struct{ name, config string }{{"off", ""}, {"audit", "[policy]\nmode = \"audit\"\n"}} {
		t.Run(c.name, func(t *testing.T) {
			id := ""
			w := newAssembled(t, c.config, func(r request) (any, string) {
				if r.Method != "thread/start" {
					return map[string]any{}, ""
				}
				return map[string]any{"thread": map[string]any{"id": id}, "model": "m", "cwd": "/w"}, ""
			})
			w.initialize(nil)
			counts := func(want string) {
				t.Helper()
				if got := string(w.must("bridge/status", map[string]any{}).Get("threads").Raw()); got != want {
					t.Errorf("bridge/status has %s threads, want %s", got, want)
				}
			}
			counts("0")
			for _, id = range []string{"t1", "t2"} {
				w.must("thread/start", map[string]any{})
			}
			counts("2")
			w.notify(map[string]any{"method": "thread/closed", "params": map[string]any{"threadId": "t1"}})
			w.must("model/list", map[string]any{}) // its response follows the notification
			counts("1")
		})
	}
}
