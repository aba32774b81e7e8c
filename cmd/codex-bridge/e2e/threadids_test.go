//go:build linux

package e2e_test

import (
	"strings"
	"testing"
)

// Codex accepts a thread's id in several spellings. The bridge accepts only Codex's own, because it
// finds its data by the text of the id.
func TestThreadIDSpellings(t *testing.T) {
	t.Parallel()
	spellings := map[string]func(id string) string{
		"upper case": strings.ToUpper,
		"no hyphens": func(id string) string { return strings.ReplaceAll(id, "-", "") },
		"braces":     func(id string) string { return "{" + id + "}" },
		"urn":        func(id string) string { return "urn:uuid:" + id },
	}
	w := newWorld(t, options{config: gitConfig})
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}
	for name, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
		a := w.newAcceptingEditor(argv...)
		thread := a.thread(settings)
		a.turn(thread, "good day")
		for spelling, spell := range spellings {
			for _, method := range []string{"thread/read", "thread/resume", "turn/start"} {
				params := input(spell(thread), "good day")
				if method != "turn/start" {
					params = map[string]any{"threadId": spell(thread)}
				}
				if name == "control" {
					mark := a.Mark()
					a.must(method, params)
					if method == "turn/start" {
						a.waitFor(mark, "turn/completed", nil)
					}
				} else if err := a.mustFail(method, params); method != "thread/read" && (err.Code != -32602 || !strings.Contains(err.Message, "send "+thread)) {
					t.Errorf("%s, %s: %v", spelling, method, err)
				}
			}
		}
		a.turn(thread, "good day")
		a.closeAndWait()
	}
}
