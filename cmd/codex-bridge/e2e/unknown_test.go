//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge/cmd/internal/editor"
)

// What no schema knows does no harm to a conversation, and each request of the kind is
// answered with an error, once: codex's by the editor where nothing is held to a policy, and by the bridge
// where it is; the editor's by codex, and by the bridge.
func TestUnknown(t *testing.T) {
	t.Parallel()
	if noiseSeed == 0 {
		t.Fatalf("%s is 0", noiseEnv)
	}
	for name, test := range map[string]struct {
		config string
		code   string // of the answers that codex gets
	}{
		"without a policy": {"", "-32601"},
		"under a policy":   {policyConfig, "-32010"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config})
			c := w.open(proxyArgv...)
			c.initialize(nil)
			thread := c.thread(nil)
			for enough := false; !enough; {
				c.say(thread, "SAY: good day")
				asked, told, members, _ := w.noise.said()
				_, sent := w.noise.editors[0].unanswered()
				enough = len(asked) > 1 && told > 0 && members > 0 && sent > 1
			}
			for all := false; !all; time.Sleep(5 * time.Millisecond) {
				asked, _, _, answers := w.noise.said()
				left, _ := w.noise.editors[0].unanswered()
				if all = len(left) == 0 && len(asked) == len(answers); c.ctx.Err() != nil {
					t.Fatalf("without an answer are %q, and of codex's %q all but %q", left, asked, answers)
				}
				for _, answer := range answers {
					if code := editor.Member([]byte(answer), "error", "code"); code != test.code {
						t.Errorf("codex was answered %s, and not with %s", answer, test.code)
					}
				}
			}
			c.quit()
		})
	}
}

// said is what the side of codex has said and was answered so far.
func (n *worldNoise) said() (asked []string, told, members int, answers []string) {
	files, _ := filepath.Glob(filepath.Join(n.report, "*")) // the pattern is right
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
				told++
			}
		}
	}
	return asked, told, members, answers
}
