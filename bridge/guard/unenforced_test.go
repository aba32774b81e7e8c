package guard_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
)

// If no policy is enforced, a thread is not opened in a folder whose policy file requires
// enforcement. Other threads are opened unchanged.
func TestFolderThatRequiresEnforcement(t *testing.T) {
	const folderRefusal = `editor< {"id":1,"error":{"code":-32010,"message":"<text>","data":{"method":"METHOD","rule":"policy.mode","field":"params.cwd","reason":"<text>","hint":"<text>"}}}
`
	for _, test := range []struct {
		name, method, cwd string
		refused           bool
		warned            bool
	}{
		{"the folder", "thread/start", "ROOT/enforced", true, false},
		{"seen from the start folder", "thread/start", "enforced", true, false},
		{"in the home", "thread/start", "~/enforced", true, false},
		{"a folder whose file can't be held", "thread/start", "ROOT/exposed", true, false},
		{"by a resume", "thread/resume", "ROOT/enforced", true, false},
		{"by a fork", "thread/fork", "ROOT/enforced", true, false},
		{"by a command", "command/exec", "ROOT/enforced", true, false},
		{"by a command in a folder without a file", "command/exec", "ROOT/plain", false, false},
		{"in a turn", "turn/start", "ROOT/enforced", false, false},
		{"without a cwd", "thread/start", "", false, false},
		{"a folder whose file is only logged", "thread/start", "ROOT/audited", false, false},
		{"a folder without a file", "thread/start", "ROOT/plain", false, false},
		{"a folder whose file does not load", "thread/start", "ROOT/broken", false, true},
		{"a link to itself", "thread/start", "ROOT/loop", false, false},
	} {
		for _, mode := range []string{"off", "audit"} {
			t.Run(mode+", "+test.name, func(t *testing.T) {
				w := world(t)
				w.Home = w.StartFolder
				for _, name := range []string{"enforced", "audited", "plain", "broken", "exposed"} {
					if err := os.Mkdir(filepath.Join(w.StartFolder, name), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Symlink("loop", filepath.Join(w.StartFolder, "loop")); err != nil {
					t.Fatal(err)
				}
				text := inMode("off", readOnlyPolicy)
				if mode == "audit" {
					text = inMode("audit", readOnlyPolicy)
				}
				var log bytes.Buffer
				g := guard.New(load(t, text), w, guard.NoRecord, slog.New(slog.NewTextHandler(&log, nil)))
				enforced, audited := load(t, readOnlyPolicy), load(t, inMode("audit", readOnlyPolicy))
				g.SetFolderPolicies(func(folder string) (*policy.Policy, error) {
					switch filepath.Base(folder) {
					case "enforced":
						return enforced, nil
					case "audited":
						return audited, nil
					case "exposed":
						return enforced, errors.New("it could be written")
					case "broken":
						return nil, errors.New("line 3 is not TOML")
					}
					return nil, nil
				})
				c := bridgetest.Start(t, g)
				params := `"threadId":"t1","input":[],"cwd":"CWD"`
				if test.method == "thread/start" {
					params = `"cwd":"CWD"`
				}
				if test.cwd == "" {
					params = ""
				}
				line := strings.NewReplacer("CWD", test.cwd, "ROOT", w.StartFolder).Replace(`{"id":1,"method":"` + test.method + `","params":{` + params + `}}`)
				c.EditorSends(line)
				if test.refused {
					c.Play("refused", strings.ReplaceAll(folderRefusal, "METHOD", test.method))
					return
				}
				for {
					got := c.NextToCodex(1)[0]
					if !strings.Contains(got, `"`+test.method+`"`) { // the audit asks for what it needs
						_, id, _ := strings.Cut(got, `"id":"`)
						id, _, _ = strings.Cut(id, `"`)
						c.CodexSends(`{"id":"` + id + `","error":{"code":-32600,"message":"no"}}`)
						continue
					}
					if got != line {
						t.Errorf("Codex gets %s", got)
					}
					break
				}
				if warned := strings.Contains(log.String(), "does not load"); mode == "off" && warned != test.warned {
					t.Errorf("the log says %s", log.String())
				}
			})
		}
	}
}
