//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/cmd/internal/editor"
)

// settingsSample are configurations of Codex, with threads that are started, and then forked and resumed
// after a restart of Codex. Answers are what Codex says of each, in order.
type settingsSample []struct {
	Config struct {
		Approval, Sandbox, Permissions, Trust string
		Network, NoSlashTmp                   bool
		Table                                 json.RawMessage
	} `json:"config"`
	Threads []struct {
		Start      map[string]any   `json:"start"`
		WithoutCwd bool             `json:"withoutCwd"`
		Turn       map[string]any   `json:"turn"` // the settings of the first turn
		Then       []map[string]any `json:"then"`
		Answers    []map[string]any `json:"answers"`
	} `json:"threads"`
}

// TestSettingsOfCodex compares the settings that Codex alone gives to threads with those in
// testdata/settings-of-codex.json, which the model of the laws in bridge/policy gives, too. A command
// reads a file that the user's profile denies only where the model says so.
func TestSettingsOfCodex(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../testdata/settings-of-codex.json")
	if err != nil {
		t.Fatal(err)
	}
	var sample settingsSample
	if err := json.Unmarshal(text, &sample); err != nil {
		t.Fatal(err)
	}
	for _, one := range sample {
		w := newWorld(t, options{mute: "with Codex alone"})
		config := w.read("home/config.toml")
		top := ""
		for key, v := range map[string]string{"approval_policy": one.Config.Approval, "sandbox_mode": one.Config.Sandbox, "default_permissions": one.Config.Permissions} {
			if v != "" {
				top += fmt.Sprintf("%s = %q\n", key, v)
			}
		}
		if one.Config.Trust != "" {
			config += fmt.Sprintf("\n[projects.%q]\ntrust_level = %q\n", w.workspace, one.Config.Trust)
		}
		if one.Config.Table != nil {
			config += "\n[permissions.mine]\nextends = \":workspace\"\n[permissions.mine.filesystem.\":workspace_roots\"]\nkeys = \"deny\"\n"
		}
		config += fmt.Sprintf("\n[sandbox_workspace_write]\nnetwork_access = %t\nexclude_slash_tmp = %t\n", one.Config.Network, one.Config.NoSlashTmp)
		w.write("home/config.toml", top+config)
		w.write("workspace/keys", "secret")
		got := make([][]map[string]any, len(one.Threads))
		ids := make([]string, len(one.Threads))
		a := w.newAcceptingEditor(codexPath, "app-server")
		answer := func(i int, result json.RawMessage, turn map[string]any) (id string) {
			var r map[string]any
			if err := json.Unmarshal(result, &r); err != nil {
				t.Fatal(err)
			}
			sandbox, _ := r["sandbox"].(map[string]any)
			id = editor.Member(result, "thread", "id")
			started, mark := a.startTurnWith(id, "RUN: cat keys", turn)
			a.waitTurn(id, started, mark)
			got[i] = append(got[i], map[string]any{
				"approval": r["approvalPolicy"], "sandbox": sandbox["type"], "network": sandbox["networkAccess"] == true, "noSlashTmp": sandbox["excludeSlashTmp"] == true,
				"reads": strings.Contains(w.lastToolOutput(), "secret"),
			})
			return id
		}
		for i, thread := range one.Threads {
			params := map[string]any{"cwd": w.workspace}
			if thread.WithoutCwd {
				delete(params, "cwd")
			}
			maps.Copy(params, thread.Start)
			ids[i] = answer(i, a.must("thread/start", params), thread.Turn)
		}
		a.closeAndWait()
		a = w.newAcceptingEditor(codexPath, "app-server")
		for i, thread := range one.Threads {
			for _, then := range thread.Then {
				params := maps.Clone(then)
				delete(params, "method")
				params["threadId"] = ids[i]
				answer(i, a.must(then["method"].(string), params), nil)
			}
			if diff := cmp.Diff(thread.Answers, got[i]); diff != "" {
				t.Errorf("%v, then %v with %+v (-file +Codex)\n%s\n%s", thread.Start, thread.Then, one.Config, diff, marshal(t, got[i]))
			}
		}
		a.closeAndWait()
	}
}
