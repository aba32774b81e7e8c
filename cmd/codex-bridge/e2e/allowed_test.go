//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/scripted"
)

// A card counts the permissions for which a line has no room, and shows all below it. The decision log has all, too.
func TestCutCardIsRecordedWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{
		codexConfig: "suppress_unstable_features_warning = true\n[features]\nrequest_permissions_tool = true\n",
		config:      "[policy]\napproval = [\"on-request\"]\nsandbox = \"workspace-write\"\n",
	})
	var folders []string
	for i := range 4 {
		w.write(fmt.Sprintf("workspace/folder%d/here", i), "")
		folders = append(folders, filepath.Join(w.workspace, fmt.Sprintf("folder%d", i)))
	}
	request := fmt.Sprintf(`{"reason":"r","permissions":{"file_system":{"write":%s}}}`, marshal(t, folders))
	w.model.Add(scripted.Step{When: "PERMIT", Reply: scripted.Reply{scripted.Call{Tool: "request_permissions", Arguments: json.RawMessage(request)}}})

	seen, err := w.runAtTerminal("y", "--session", "s", "--sandbox", "read-only", "PERMIT")
	card, _, _ := strings.Cut(seen, endOfQuestion)
	if err != nil || !regexp.MustCompile(`entries: write /.* \(\+[23] more\)`).MatchString(card) || !strings.Contains(card, folders[0]) || !strings.Contains(card, folders[3]) {
		t.Errorf("%v, the user saw %q", err, seen)
	}

	out, problems, status := w.runShell("", "decisions", "list", "--json", "--verdict", "accept")
	if status != 0 {
		t.Fatalf("decisions list: status %d, %s", status, problems)
	}
	var log []struct{ Rule, Reason string }
	if err := json.Unmarshal([]byte(out), &log); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	var on []string
	for _, d := range log {
		if d.Rule == "approvals.person" {
			on = append(on, d.Reason)
		}
	}
	for _, folder := range folders {
		if !strings.Contains(strings.Join(on, ""), `"`+folder+`"`) {
			t.Errorf("%s is granted, but the log has %q", folder, on)
		}
	}
}

// Codex does not name the files in its question about a patch. The decision log has them, even if
// the bridge does not ask.
func TestPatchConsentIsRecordedWithItsFiles(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"audit":   "[policy]\nmode = \"audit\"\n",
		"no gate": "[policy]\nmode = \"enforce\"\ngate = false\nescalation = \"ask\"\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: config})
			w.model.Add(scripted.Step{When: "PATCH", Reply: scripted.Reply{scripted.CustomCall{
				Tool: "apply_patch", Input: "*** Begin Patch\n*** Add File: fresh.txt\n+one\n*** End Patch\n",
			}}})
			seen, err := w.runAtTerminal("y", "--session", "s", "--sandbox", "read-only", "PATCH")
			if err != nil || !strings.Contains(seen, "Add file: ") || !w.workspaceHasFile("fresh.txt") {
				t.Errorf("%v, the user saw %q", err, seen)
			}
			out, problems, status := w.runShell("", "decisions", "list", "--json", "--verdict", "accept")
			if status != 0 || !strings.Contains(out, "approvals.person") || !strings.Contains(out, `fresh.txt\"]`) {
				t.Errorf("status %d, %s\n%s", status, problems, out)
			}
		})
	}
}
