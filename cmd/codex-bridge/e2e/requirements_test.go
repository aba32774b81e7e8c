//go:build linux

package e2e_test

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const exportedPolicy = `
[policy]
mode = "enforce"
approval = ["on-request"]
sandbox = "workspace-write"
[[policy.rule]]
command = "touch **"
decision = "deny"
reason = "Files are made by people."
`

// requiring returns a command line that runs argv where /etc has a requirements.toml; "" for none.
func (w *world) requiring(requirements string, argv ...string) []string {
	w.t.Helper()
	etc := filepath.Join(w.root, "etc")
	if out, err := exec.CommandContext(deadline(w.t), "cp", "-a", "/etc/.", etc).CombinedOutput(); err != nil {
		w.t.Logf("a part of /etc can't be copied: %v %s", err, out)
	}
	if requirements != "" {
		w.write("etc/codex/requirements.toml", strings.ReplaceAll(requirements, "$ROOT", w.root))
	}
	script := `mount --bind "$0" /etc && exec "$@"`
	return append([]string{"unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, etc}, argv...)
}

// opened returns a member of the response to thread/start, or "refused".
func (c *conversation) opened(field string, value any) string {
	c.t.Helper()
	return c.openedWith(field, map[string]any{field: value})
}

// openedWith is opened for other params.
func (c *conversation) openedWith(field string, params map[string]any) string {
	c.t.Helper()
	sent := map[string]any{"cwd": c.workspace}
	maps.Copy(sent, params)
	result, err := c.Call(c.ctx, "thread/start", sent)
	if err != nil {
		c.t.Logf("%v: %v", params, err)
		return "refused"
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(result, &all); err != nil {
		c.t.Fatal(err)
	}
	return string(all[field])
}

// hasFeature reports whether Codex has a feature on.
func (c *conversation) hasFeature(name string) bool {
	c.t.Helper()
	var list struct {
		Data []struct {
			Name    string
			Enabled bool
		}
	}
	if err := json.Unmarshal(c.must("experimentalFeature/list", map[string]any{"limit": 1000}), &list); err != nil {
		c.t.Fatal(err)
	}
	for _, one := range list.Data {
		if one.Name == name {
			return one.Enabled
		}
	}
	c.t.Fatalf("no feature %s", name)
	return false
}

// Codex itself, without the bridge, refuses what each exported key excludes. Without the file it accepts
// that.
func TestExportedRequirementsHoldInCodexAlone(t *testing.T) {
	t.Parallel()
	for _, required := range []bool{true, false} {
		w := newWorld(t, options{config: exportedPolicy, codexConfig: "[features]\nhooks = false\n"})
		file := ""
		if required {
			var problems string
			var code int
			if file, problems, code = w.runCommand("policy", "export", "--requirements"); code != 0 {
				t.Fatal(problems)
			}
		}
		c := w.open(w.requiring(file, codexPath, "app-server")...)
		c.initialize(nil)
		accepts := func(what string, accepted bool) {
			t.Helper()
			if accepted == required {
				t.Errorf("with requirements: %v; codex accepts %s: %v", required, what, accepted)
			}
		}
		accepts("the approval policy never", c.opened("approvalPolicy", "never") == `"never"`)
		accepts("danger-full-access", strings.Contains(c.opened("sandbox", "danger-full-access"), "dangerFullAccess"))
		accepts("another reviewer", c.opened("approvalsReviewer", "auto_review") == `"auto_review"`)
		accepts("hooks off", !c.hasFeature("hooks"))
		thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
		t.Log(c.toolOutput(thread, "RUN: touch made"))
		if required {
			c.checkAbsent("made")
		} else {
			c.checkPresent("made")
		}
		c.toolOutput(thread, "RUN: echo allowed >written")
		c.checkPresent("written")
	}
}

// The bridge works over a Codex with the file that it has exported.
func TestBridgeWorksWithItsRequirements(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: exportedPolicy})
	file, problems, code := w.runCommand("policy", "export", "--requirements")
	if code != 0 {
		t.Fatal(problems)
	}
	for _, key := range []string{"policy.network", "policy.config_keys", "policy.project_trust", "policy.escalation"} {
		if !strings.Contains(file, "\n# - "+key) {
			t.Errorf("%s is not named:\n%s", key, file)
		}
	}
	c := w.open(w.requiring(file, proxyArgv...)...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	c.toolOutput(thread, "RUN: echo allowed >written")
	c.checkPresent("written")
	c.toolOutput(thread, "RUN: touch made")
	c.checkAbsent("made")
	c.closeAndWait()
}
