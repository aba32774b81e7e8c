//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// Messages that no schema has do not disturb a conversation. Each such request gets one error:
// Codex's from the editor without a policy, and from the bridge with one; the editor's from Codex,
// and from the bridge.
func TestUnknownMessagesAreAnswered(t *testing.T) {
	t.Parallel()
	if noiseSeed == 0 {
		t.Fatalf("%s is 0", noiseEnv)
	}
	for name, test := range map[string]struct {
		config string
		code   string // of the errors that Codex gets
	}{
		"without a policy": {"", "-32601"},
		"under a policy":   {policyConfig, "-32010"},
	} {
		if test.config == "" && !wide() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config})
			c := w.open(proxyArgv...)
			c.initialize(nil)
			thread := c.thread(nil)
			for enough := false; !enough; {
				c.runTurn(thread, "SAY: good day")
				asked, output, members, _ := w.noise.messages()
				_, sent := w.noise.editors[0].unanswered()
				enough = len(asked) > 1 && output > 0 && members > 0 && sent > 1
			}
			for all := false; !all; time.Sleep(5 * time.Millisecond) {
				asked, _, _, answers := w.noise.messages()
				left, _ := w.noise.editors[0].unanswered()
				if all = len(left) == 0 && len(asked) == len(answers); c.ctx.Err() != nil {
					t.Fatalf("requests without a response: %q; Codex's requests %q, responses %q", left, asked, answers)
				}
				for _, answer := range answers {
					if code := editor.Member([]byte(answer), "error", "code"); code != test.code {
						t.Errorf("Codex got %s, want %s", answer, test.code)
					}
				}
			}
			c.closeAndWait()
		})
	}
}

// messages returns the noise requests of Codex's side, the numbers of its notifications and
// members, and the responses so far.
func (n *worldNoise) messages() (asked []string, output, members int, answers []string) {
	files, _ := filepath.Glob(filepath.Join(n.report, "*")) // the pattern is valid
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			n.w.t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			what, line, _ := strings.Cut(line, " ")
			switch id := editor.Member([]byte(line), "id"); {
			case what == "+":
				members++
			case what == "<":
				answers = append(answers, line)
			case id != "":
				asked = append(asked, id)
			default:
				output++
			}
		}
	}
	return asked, output, members, answers
}

// Members that Codex's schema lacks don't reach Codex under a policy, also not in messages that pass without a check.
// Codex ignores these today, and a later one may not.
func TestUnknownMembersOfPassingMethods(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{"no policy": "", "enforced": policyConfig} {
		o, dir := withTee(t, options{config: config})
		w := newWorld(t, o)
		c := w.open(proxyArgv...)
		c.initialize(nil)
		for _, method := range []string{"model/list", "thread/list"} {
			if answer := c.must(method, map[string]any{"limit": 1, "later": map[string]any{"unknown": true}}); editor.Member(answer, "data") == "" {
				t.Errorf("%s: %s is answered by %s", name, method, answer)
			}
		}
		c.closeAndWait()
		sent := strings.Join(recorded(t, dir, "in"), "")
		if !strings.Contains(sent, `"model/list"`) || !strings.Contains(sent, `"thread/list"`) || strings.Contains(sent, `"later"`) != (config == "") {
			t.Errorf("%s: codex got %s", name, sent)
		}
	}
}
