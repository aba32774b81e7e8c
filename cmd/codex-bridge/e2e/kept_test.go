//go:build linux

package e2e_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"

	"github.com/google/go-cmp/cmp"
)

// keptPolicy is hooksPolicy with all recordings.
const keptPolicy = tracedPolicy + "[transcript]\nenabled = true\n[approvals]\nremember = \"always\"\n"

// search returns the found records as "turn/kind/index name", with the number of the turn.
func (w *world) search(args ...string) []string {
	w.t.Helper()
	cmd := exec.Command(proxyPath, append([]string{"history", "search", "--json", "--limit", "100"}, args...)...)
	cmd.Env = w.env
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatal(err)
	}
	var all []struct{ Kind, Name, Text string }
	if err := json.Unmarshal(out, &all); err != nil {
		w.t.Fatal(err)
	}
	lines := []string{}
	for _, one := range all {
		lines = append(lines, strings.TrimSpace(one.Kind+" "+one.Name)+": "+strings.ReplaceAll(one.Text, "\n", "⏎"))
	}
	return lines
}

// A transcript has each message once, also after a resume in another process, and whatever
// notifications the client omits.
func TestTranscriptRecordsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: keptPolicy})
	open := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"experimentalApi": true, "optOutNotificationMethods": []string{"item/completed"}})
	thread := c.thread(open)
	c.runTurn(thread, "RUN: echo heliotrope")
	c.runTurn(thread, "PATCH: new.txt\nheliotrope")
	mark := c.Mark()
	c.must("thread/compact/start", map[string]any{"threadId": thread})
	c.waitFor(mark, "turn/completed", nil)
	c.closeAndWait()
	for _, m := range c.Messages() {
		if m.Method == "item/completed" {
			t.Fatalf("the client got %s", m.Raw)
		}
	}
	found := w.search("heliotrope")
	want := map[string]int{"user": 2, "assistant": 1, "tool shell": 1, "tool apply_patch": 1}
	got := make(map[string]int)
	for _, line := range found {
		kind, _, _ := strings.Cut(line, ":")
		got[kind]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s\n%s", diff, strings.Join(found, "\n"))
	}
	if got := w.search("summed", "--kind", "compaction", "--thread", thread); len(got) != 2 {
		t.Errorf("records of the compaction: %q", got)
	}

	c = w.open(proxyArgv...)
	c.initialize(nil)
	resumed := map[string]any{"cwd": w.workspace}
	for name, value := range open {
		resumed[name] = value
	}
	c.resume(thread, resumed)
	c.runTurn(thread, "good day, amaranth")
	c.closeAndWait()
	if diff := cmp.Diff(found, w.search("heliotrope")); diff != "" {
		t.Errorf("after a resume: -before +after\n%s", diff)
	}
	if got := w.search("amaranth"); len(got) != 2 {
		t.Errorf("records after a resume: %q", got)
	}
}

// A resume adds a thread that the transcript lacks; ephemeral threads are not recorded.
func TestTranscriptAddsResumedThread(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: keptPolicy})
	direct := w.open(codexPath, "app-server")
	direct.initialize(nil)
	thread := direct.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	direct.runTurn(thread, "RUN: echo heliotrope")
	direct.closeAndWait()
	c := w.open(proxyArgv...)
	c.initialize(nil)
	c.runTurn(c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write", "ephemeral": true}), "good day, amaranth")
	c.resume(thread, map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
	c.closeAndWait()
	if got := w.search("heliotrope"); len(got) != 3 {
		t.Errorf("records of the thread: %q", got)
	}
	if got := w.search("amaranth"); len(got) != 0 {
		t.Errorf("records of the ephemeral thread: %q", got)
	}
}

// Secrets in prompts, the environment, tool output, headers and data URLs are in no file, log or
// error of the bridge.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	canaries := make(map[string]string) // by their place
	canary := func(where string) string {
		secret := "Zq7Kx0Vw9Rt3Yb5N" + string(rune('A'+len(canaries)))
		canaries[secret] = where
		return secret
	}
	environment := canary("the environment, printed as it is")
	quoted := canary("the environment, before a character that Codex quotes") + "$`" + canary("the environment, after it")
	w := newWorld(t, options{
		config:      keptPolicy + "\n[codex.env]\nADDED_PASSWORD = \"" + canary("codex.env") + "\"\n",
		env:         []string{"CODEX_BRIDGE_LOG=debug", "SERVICE_PASSWORD=" + environment, "QUOTED_PASSWORD=" + quoted},
		codexConfig: "[shell_environment_policy]\nignore_default_excludes = true\n",
	})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{
		"approvalPolicy": "on-request", "sandbox": "workspace-write",
		"config":           map[string]any{"mcp_servers": map[string]any{"x": map[string]any{"http_headers": map[string]any{"Authorization": canary("a header in the overlay")}}}},
		"baseInstructions": "use API_KEY=" + canary("instructions"),
	})
	c.runTurn(thread, "my password is password="+canary("a prompt")+", and curl -H 'Authorization: Bearer "+canary("a header in a prompt")+"'")
	c.runTurn(thread, "RUN: echo API_TOKEN="+canary("a command and its output"))
	c.runTurn(thread, "RUN: echo 'Set-Cookie: session="+canary("a cookie")+"'")
	c.runTurn(thread, `RUN: echo "it is $SERVICE_PASSWORD$ADDED_PASSWORD"`)
	c.runTurn(thread, "RUN: touch --token="+canary("a command that is denied"))
	turn, mark := c.startTurn(thread, "RUN: mkdir --token="+canary("a command that is asked about"))
	if err := c.Reply(c.waitFor(mark, commandApproval, nil), decision("acceptForSession")); err != nil {
		t.Fatal(err)
	}
	c.waitTurn(thread, turn, mark)
	c.runTurnAnswering(thread, "RUN: mkdir '"+quoted+"'", commandApproval, decision("accept"))
	c.runTurn(thread, "PATCH: settings.env\nDB_PASSWORD="+canary("a patch"))
	image := input(thread, "look at it")
	image["input"] = append(image["input"].([]any), map[string]any{"type": "image", "url": "data:image/png;base64,iVBORw0KGgo" + canary("a data URL")})
	mark = c.Mark()
	turn = editor.Member(c.must("turn/start", image), "turn", "id")
	c.waitTurn(thread, turn, mark)
	var errs []string
	for method, params := range map[string]map[string]any{
		"fs/writeFile": {"path": "/x", "data": "password=" + canary("a request that is refused")},
		"no/such":      {"token": canary("an unknown method")},
		"thread/start": {"config": map[string]any{"model_providers": map[string]any{"x": map[string]any{"http_headers": map[string]any{"Authorization": canary("a header in a refused overlay")}}}}},
	} {
		errs = append(errs, c.mustFail(method, params).Error())
	}
	if err := c.Send([]byte(`{"id":7,"method":"x","params":{"token":"` + canary("a line that is none") + `",}}`)); err != nil {
		t.Fatal(err)
	}
	c.must("thread/list", map[string]any{})
	c.closeAndWait()

	// Codex logs the command to the same stream in its own format.
	var log strings.Builder
	for line := range strings.Lines(c.Stderr()) {
		if strings.HasPrefix(line, "time=") {
			log.WriteString(line)
		}
	}
	texts := map[string]string{"the log": log.String(), "the errors": strings.Join(errs, "\n")}
	for _, command := range [][]string{
		{"trace", "show", "--all", thread}, {"trace", "html", thread}, {"decisions", "export"}, {"grants", "list"}, {"threads", "list"},
	} {
		cmd := exec.Command(proxyPath, command...)
		cmd.Env = w.env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", command, err, out)
		}
		texts[strings.Join(command[:2], " ")] = string(out)
	}
	files := 0
	state := filepath.Join(w.root, "state")
	if err := filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		texts["the file "+strings.TrimPrefix(path, state)] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if files < 2 || !strings.Contains(log.String(), "level=DEBUG") {
		t.Errorf("%d files, log:\n%s", files, log.String())
	}
	for name, text := range texts {
		text = strings.ToLower(text)
		for secret, where := range canaries {
			if at := strings.Index(text, strings.ToLower(secret)); at >= 0 {
				t.Errorf("%s has the secret of %s: …%q", name, where, text[max(0, at-200):at+20])
			}
		}
	}
	for secret, where := range canaries {
		if got := w.search(secret); len(got) > 0 {
			t.Errorf("a search finds the secret of %s: %q", where, got)
		}
	}
	// The rest of the messages is recorded.
	if got := w.search("api_token"); len(got) < 3 {
		t.Errorf("records of the command: %q", got)
	}
}
