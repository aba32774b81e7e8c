//go:build linux

package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The page of a real conversation, with an approval, a tool call and a denied command, in a
// browser: it loads nothing, works with the keyboard, and follows the user's light or dark mode.
func TestTracePage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nsandbox = \"workspace-write\"\n[[policy.rule]]\ntool = \"shell\"\ncommand = \"git push **\"\n" +
		"decision = \"deny\"\nreason = \"denied by the test\"\n[trace]\nenabled = true\n" +
		"[tools.greet]\ndescription = \"D\"\ncommand = [\"/bin/sh\", \"-c\", \"echo good day\"]\n"})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
	c.runTurnAnswering(thread, "RUN: touch asked.txt", "item/commandExecution/requestApproval", map[string]any{"decision": "accept"})
	c.runTurn(thread, "CALL: greet {}")
	c.runTurn(thread, "RUN: git push origin main")
	c.closeAndWait()

	page := filepath.Join(w.root, "page.html")
	html := exec.CommandContext(deadline(t), proxyPath, "trace", "html", thread)
	html.Env, html.Dir = w.env, w.workspace
	text, err := html.Output()
	if err == nil {
		err = os.WriteFile(page, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	shots := os.Getenv("CODEX_BRIDGE_E2E_KEEP")
	if shots == "" {
		shots = w.root
	}
	browse := exec.CommandContext(deadline(t), "node", filepath.Join(clients, "page.mjs"),
		filepath.Join(repositoryRoot(t), "editors", "vscode", "e2e", "node_modules"), page, shots)
	browse.Stderr = os.Stderr
	out, err := browse.Output()
	if err != nil {
		t.Fatalf("%v; run `make editors`, which installs the browser", err)
	}
	var seen struct {
		Problems, Rows, Opened, Found, Stopped []string
		Title                                  string
		Colors                                 map[string]string
	}
	if err := json.Unmarshal(out, &seen); err != nil {
		t.Fatal(err, string(out))
	}
	if len(seen.Problems) > 0 {
		t.Errorf("the page has problems: %q", seen.Problems)
	}
	if !strings.HasPrefix(seen.Title, "RUN: touch asked.txt") || seen.Colors["light"] == seen.Colors["dark"] {
		t.Errorf("%q, in the colours %v", seen.Title, seen.Colors)
	}
	has := func(list []string, text string) bool {
		return slices.ContainsFunc(list, func(one string) bool { return strings.Contains(one, text) })
	}
	for _, text := range []string{"RUN: touch asked.txt", "touch asked.txt", "greet", "git push origin main", "The tool"} {
		if !has(seen.Rows, text) {
			t.Errorf("row %q is missing in %q", text, seen.Rows)
		}
	}
	if len(seen.Opened) != 1 || seen.Opened[0] != seen.Rows[1] {
		t.Errorf("opened by keys: %q of %q", seen.Opened, seen.Rows)
	}
	if !has(seen.Found, "git push") || len(seen.Found) >= len(seen.Rows) {
		t.Errorf("the search found %q", seen.Found)
	}
	if !has(seen.Stopped, "git push") || has(seen.Stopped, "greet") {
		t.Errorf("stopped rows: %q", seen.Stopped)
	}
}
