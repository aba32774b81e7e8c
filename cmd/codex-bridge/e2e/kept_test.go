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

	"codex-bridge/cmd/internal/editor"

	"github.com/google/go-cmp/cmp"
)

// keptPolicy is hooksPolicy with all that keeps what is said.
const keptPolicy = tracedPolicy + "[transcript]\nenabled = true\n[approvals]\nremember = \"always\"\n"

// searched are the records that a search finds: "turn/kind/index name", by number of turn.
func (w *world) searched(args ...string) []string {
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

// What is said in a thread is found again: once, also after the thread was resumed in
// another process, and whatever the client does not want to hear.
func TestTranscript(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: keptPolicy})
	open := map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"experimentalApi": true, "optOutNotificationMethods": []string{"item/completed"}})
	thread := c.thread(open)
	c.say(thread, "RUN: echo heliotrope")
	c.say(thread, "PATCH: new.txt\nheliotrope")
	mark := c.Mark()
	c.must("thread/compact/start", map[string]any{"threadId": thread})
	c.waitFor(mark, "turn/completed", nil)
	c.quit()
	for _, m := range c.Messages() {
		if m.Method == "item/completed" {
			t.Fatalf("the client has heard %s", m.Raw)
		}
	}
	found := w.searched("heliotrope")
	want := map[string]int{"user": 2, "assistant": 1, "tool shell": 1, "tool apply_patch": 1}
	got := make(map[string]int)
	for _, line := range found {
		kind, _, _ := strings.Cut(line, ":")
		got[kind]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s\n%s", diff, strings.Join(found, "\n"))
	}
	if got := w.searched("summed", "--kind", "compaction", "--thread", thread); len(got) != 2 {
		t.Errorf("of the compaction is kept %q", got)
	}

	c = w.open(proxyArgv...)
	c.initialize(nil)
	resumed := map[string]any{"cwd": w.workspace}
	for name, value := range open {
		resumed[name] = value
	}
	c.resume(thread, resumed)
	c.say(thread, "good day, amaranth")
	c.quit()
	if diff := cmp.Diff(found, w.searched("heliotrope")); diff != "" {
		t.Errorf("after a resume: -before +after\n%s", diff)
	}
	if got := w.searched("amaranth"); len(got) != 2 {
		t.Errorf("after a resume is kept %q", got)
	}
}

// A thread that the transcript has not seen comes with its resume; an ephemeral one is not kept.
func TestTranscriptLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: keptPolicy})
	direct := w.open(codexPath, "app-server")
	direct.initialize(nil)
	thread := direct.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	direct.say(thread, "RUN: echo heliotrope")
	direct.quit()
	c := w.open(proxyArgv...)
	c.initialize(nil)
	c.say(c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write", "ephemeral": true}), "good day, amaranth")
	c.resume(thread, map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
	c.quit()
	if got := w.searched("heliotrope"); len(got) != 3 {
		t.Errorf("of the thread is kept %q", got)
	}
	if got := w.searched("amaranth"); len(got) != 0 {
		t.Errorf("of the ephemeral thread is kept %q", got)
	}
}

// Secrets in prompts, in the environment, in what tools say, in headers and in data URLs are
// in no file of the bridge's, no log, and no error.
func TestCanaries(t *testing.T) {
	t.Parallel()
	canaries := make(map[string]string) // by where they are
	canary := func(where string) string {
		secret := "Zq7Kx0Vw9Rt3Yb5N" + string(rune('A'+len(canaries)))
		canaries[secret] = where
		return secret
	}
	environment := canary("the environment, printed as it is")
	w := newWorld(t, options{
		config:      keptPolicy + "\n[codex.env]\nADDED_PASSWORD = \"" + canary("codex.env") + "\"\n",
		env:         []string{"CODEX_BRIDGE_LOG=debug", "SERVICE_PASSWORD=" + environment},
		codexConfig: "[shell_environment_policy]\nignore_default_excludes = true\n",
	})
	c := w.open(proxyArgv...)
	c.initialize(nil)
	thread := c.thread(map[string]any{
		"approvalPolicy": "on-request", "sandbox": "workspace-write",
		"config":           map[string]any{"model_providers": map[string]any{"x": map[string]any{"http_headers": map[string]any{"Authorization": canary("a header in the overlay")}}}},
		"baseInstructions": "use API_KEY=" + canary("instructions"),
	})
	c.say(thread, "my password is password="+canary("a prompt")+", and curl -H 'Authorization: Bearer "+canary("a header in a prompt")+"'")
	c.say(thread, "RUN: echo API_TOKEN="+canary("a command and its output"))
	c.say(thread, "RUN: echo 'Set-Cookie: session="+canary("a cookie")+"'")
	c.say(thread, `RUN: echo "it is $SERVICE_PASSWORD$ADDED_PASSWORD"`)
	c.say(thread, "RUN: touch --token="+canary("a command that is denied"))
	turn, mark := c.begin(thread, "RUN: mkdir --token="+canary("a command that is asked about"))
	if err := c.Reply(c.waitFor(mark, commandApproval, nil), decision("acceptForSession")); err != nil {
		t.Fatal(err)
	}
	c.end(thread, turn, mark)
	c.say(thread, "PATCH: settings.env\nDB_PASSWORD="+canary("a patch"))
	image := input(thread, "look at it")
	image["input"] = append(image["input"].([]any), map[string]any{"type": "image", "url": "data:image/png;base64,iVBORw0KGgo" + canary("a data URL")})
	mark = c.Mark()
	turn = editor.Member(c.must("turn/start", image), "turn", "id")
	c.end(thread, turn, mark)
	var errs []string
	for method, params := range map[string]map[string]any{
		"fs/writeFile": {"path": "/x", "data": "password=" + canary("a request that is refused")},
		"no/such":      {"token": canary("an unknown method")},
	} {
		errs = append(errs, c.refused(method, params).Error())
	}
	if err := c.Send([]byte(`{"id":7,"method":"x","params":{"token":"` + canary("a line that is none") + `",}}`)); err != nil {
		t.Fatal(err)
	}
	c.must("thread/list", map[string]any{})
	c.quit()

	// Codex writes to the same stream, in its own form, what it was asked to run.
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
		t.Errorf("%d files, and the log has\n%s", files, log.String())
	}
	for name, text := range texts {
		text = strings.ToLower(text)
		for secret, where := range canaries {
			if at := strings.Index(text, strings.ToLower(secret)); at >= 0 {
				t.Errorf("%s has what was in %s: …%q", name, where, text[max(0, at-200):at+20])
			}
		}
	}
	for secret, where := range canaries {
		if got := w.searched(secret); len(got) > 0 {
			t.Errorf("a search finds what was in %s: %q", where, got)
		}
	}
	// What is kept is what was said, but for that.
	if got := w.searched("api_token"); len(got) < 3 {
		t.Errorf("of the command is kept %q", got)
	}
}
