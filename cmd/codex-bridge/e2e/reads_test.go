//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A client can't read the project configuration of another folder: the tokens of its servers, its
// skills and plugins. Codex alone shows them, also for untrusted projects.
func TestClientCannotReadOtherProjects(t *testing.T) {
	t.Parallel()
	const canary = "canary-4711"
	w := newWorld(t, options{config: "[policy]\n", plugins: true})
	far := filepath.Join(w.root, "elsewhere")
	w.write("elsewhere/.git/HEAD", "ref: refs/heads/main\n")
	w.write("elsewhere/.codex/config.toml", fmt.Sprintf(
		"[mcp_servers.x]\ncommand = \"true\"\nenv = { TOKEN = %q }\n", canary))
	w.write("elsewhere/.agents/skills/far/SKILL.md", "---\nname: "+canary+"\ndescription: d\n---\nx\n")
	market := w.write("elsewhere/.agents/plugins/marketplace.json", `{"name":"far","plugins":[{"name":"p","source":{"source":"local","path":"./p"}}]}`)
	w.write("elsewhere/p/.codex-plugin/plugin.json", fmt.Sprintf(`{"name":"p","version":"1.0.0","description":%q}`, canary))
	w.write("workspace/sub/.git/HEAD", "ref: refs/heads/main\n")
	for from, to := range map[string]string{
		filepath.Join(w.workspace, "link"):          far,
		filepath.Join(w.workspace, "sub", ".codex"): filepath.Join(far, ".codex"),
		filepath.Join(w.workspace, "market.json"):   market,
	} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	reads := map[string]struct{ method, params string }{}
	for where, path := range map[string]string{
		"": far, ", below": filepath.Join(far, "p"), ", by a link": filepath.Join(w.workspace, "link"),
		", by ..": w.workspace + "/../elsewhere", ", by a link's ..": w.workspace + "/link/p/..",
	} {
		quoted, err := json.Marshal(path)
		if err != nil {
			t.Fatal(err)
		}
		reads["configuration"+where] = struct{ method, params string }{"config/read", fmt.Sprintf(`{"cwd":%s,"includeLayers":true}`, quoted)}
		reads["skills"+where] = struct{ method, params string }{"skills/list", fmt.Sprintf(`{"cwds":[%s],"forceReload":true}`, quoted)}
	}
	reads["configuration, itself a link"] = struct{ method, params string }{"config/read", fmt.Sprintf(`{"cwd":%q,"includeLayers":true}`, filepath.Join(w.workspace, "sub"))}
	reads["plugin"] = struct{ method, params string }{"plugin/read", fmt.Sprintf(`{"marketplacePath":%q,"pluginName":"p"}`, market)}
	reads["plugins"] = struct{ method, params string }{"plugin/list", fmt.Sprintf(`{"cwds":[%q]}`, far)}

	alone, held := w.open(codexPath, "app-server"), w.open(proxyArgv...)
	alone.initialize(nil)
	held.initialize(nil)
	for name, read := range reads {
		if result, _ := alone.Call(alone.ctx, read.method, json.RawMessage(read.params)); !strings.Contains(string(result), canary) && !strings.Contains(string(result), market) {
			t.Errorf("%s: Codex alone does not show it: %s", name, result)
		}
		result, err := held.Call(held.ctx, read.method, json.RawMessage(read.params))
		if err != nil && err.Code == 0 {
			t.Fatal(err)
		}
		if strings.Contains(string(result), canary) || strings.Contains(string(result), market) {
			t.Errorf("%s: %s", name, result)
		}
	}
	// The workspace's own are shown.
	own := w.write("workspace/.agents/skills/near/SKILL.md", "---\nname: near\ndescription: d\n---\nx\n")
	if shown := string(held.must("skills/list", map[string]any{"cwds": []string{w.workspace}, "forceReload": true})); !strings.Contains(shown, own) {
		t.Errorf("workspace: %s", shown)
	}
	alone.closeAndWait()
	held.closeAndWait()
}
