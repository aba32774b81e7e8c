package guard_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/guard"
)

// The warning about a configuration that is not loaded is sent once for each project: to stderr,
// and to a client that has not disabled it, after the response.
func TestUntrustedProjectWarning(t *testing.T) {
	const opened = `
editor> {"id":$id,"method":"thread/start","params":{"cwd":"$cwd","approvalPolicy":"untrusted","sandbox":"read-only"}}
codex<  {"id":"$own$id","method":"config/read","params":{"includeLayers":true}}
codex>  {"id":"$own$id","result":{"config":{}}}
codex<  {"id":$id,"method":"thread/start","params":"$params$id"}
codex>  {"id":$id,"result":{"thread":{"id":"t"},"approvalPolicy":"untrusted","approvalsReviewer":"user","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null,"cwd":"$cwd","model":"gpt-5.5","runtimeWorkspaceRoots":[]}}
editor< {"id":$id,"result":"$result$id"}
`
	const told = `editor< {"method":"configWarning","params":{"summary":"<text>","details":"<text>"}}
`
	for name, tt := range map[string]struct{ optOut, told string }{
		"listens": {`[]`, told},
		"deaf":    {`["configWarning"]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := world(t)
			plant(t, w.StartFolder, txtar.Parse([]byte("-- a/.git/HEAD --\nx\n-- a/.codex/config.toml --\n-- a/b/x --\n-- c/x --\n")))
			var log bytes.Buffer
			g := guard.New(load(t, "[policy]\napproval = [\"untrusted\"]\n"), w, guard.NoRecord, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
			c := bridgetest.Start(t, g)
			step := func(id, folder string) string {
				return strings.NewReplacer("$id", id, "$cwd", w.StartFolder+folder).Replace(opened)
			}
			c.Play(name, `
editor> {"id":0,"method":"initialize","params":{"capabilities":{"optOutNotificationMethods":`+tt.optOut+`}}}
codex<= {"id":0,"method":"initialize","params":{"capabilities":{"optOutNotificationMethods":`+tt.optOut+`}}}
codex>  {"id":0,"result":{}}
editor< {"id":0,"result":{}}
`+step("1", "/c")+step("2", "/a/b")+tt.told+step("3", "/a")+step("4", "/c"))
			if got := strings.Count(log.String(), "is not a trusted project"); got != 1 || !strings.Contains(log.String(), "project="+w.StartFolder+"/a ") {
				t.Errorf("said %d times:\n%s", got, log.String())
			}
		})
	}
}
