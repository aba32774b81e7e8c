//go:build linux

package e2e_test

import (
	"strings"
	"testing"
)

// /etc/codex/managed_config.toml wins over a thread's overlay. The bridge opens no thread that would get what the
// policy forbids, and names the key. The control is Codex alone, which does not read such a file in CODEX_HOME.
func TestManagedConfigurationOfMachine(t *testing.T) {
	t.Parallel()
	const managed = "approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nnetwork_access = true\n"
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\nsandbox = \"workspace-write\"\n"})
	inEtc := w.requiring("", "")
	inEtc = inEtc[:len(inEtc)-1]
	asks := map[string]any{"sandbox": "workspace-write", "config": map[string]any{"sandbox_workspace_write.network_access": false}}
	network := func(argv ...string) string {
		c := w.open(append(inEtc[:len(inEtc):len(inEtc)], argv...)...)
		c.initialize(nil)
		defer c.closeAndWait()
		return c.openedWith("sandbox", asks)
	}
	w.write("home/managed_config.toml", managed)
	if got := network(codexPath, "app-server"); !strings.Contains(got, `"networkAccess":false`) {
		t.Errorf("control: with the file in CODEX_HOME, Codex alone has %s", got)
	}
	w.write("etc/codex/managed_config.toml", managed)
	if got := network(codexPath, "app-server"); !strings.Contains(got, `"networkAccess":true`) {
		t.Errorf("control: Codex alone has %s", got)
	}
	for text, want := range map[string]string{
		managed:                         "managed_config.toml of this machine sets sandbox_workspace_write.network_access",
		"[features]\nhooks = false\n":   "managed_config.toml of this machine sets features.hooks",
		"approval_policy = \"never\"\n": "allowed_approval_policies has never",
	} {
		w.write("etc/codex/managed_config.toml", text)
		c := w.open(append(inEtc[:len(inEtc):len(inEtc)], proxyArgv...)...)
		c.initialize(nil)
		asks["cwd"] = w.workspace
		if err := c.mustFail("thread/start", asks); !strings.Contains(err.Message, want) {
			t.Errorf("%q: %s", text, err.Message)
		}
		c.closeAndWait()
	}
}
