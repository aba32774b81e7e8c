//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// runCommand runs a bridge command in the workspace.
func (w *world) runCommand(args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	cmd := exec.CommandContext(deadline(w.t), proxyPath, args...)
	cmd.Env, cmd.Dir = append(slices.Clip(w.env), "COLUMNS=1000"), w.workspace // no line is wrapped
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		w.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// writeImages writes a PNG and a JPEG into the workspace and returns them in base64.
func (w *world) writeImages() (pngData, jpegData string) {
	w.t.Helper()
	picture := image.NewRGBA(image.Rect(0, 0, 40, 30))
	for i := range 40 {
		picture.Set(i, i%30, color.RGBA{R: 200, G: uint8(i), A: 255})
	}
	var p, j bytes.Buffer
	if err := png.Encode(&p, picture); err != nil {
		w.t.Fatal(err)
	}
	if err := jpeg.Encode(&j, picture, nil); err != nil {
		w.t.Fatal(err)
	}
	w.write("workspace/picture.png", p.String())
	w.write("workspace/photo.dat", j.String()) // file names do not matter
	return base64.StdEncoding.EncodeToString(p.Bytes()), base64.StdEncoding.EncodeToString(j.Bytes())
}

// checkNoThreads fails the test if Codex lists a thread.
func (w *world) checkNoThreads() {
	w.t.Helper()
	c := w.open(codexPath, "app-server")
	c.initialize(nil)
	if list := c.must("thread/list", map[string]any{}); strings.Contains(string(list), "preview") {
		w.t.Errorf("codex lists %s", list)
	}
	c.closeAndWait()
	if found, _ := filepath.Glob(filepath.Join(w.home, "sessions", "*", "*", "*", "*")); len(found) > 0 {
		w.t.Errorf("leftover files: %v", found)
	}
}

// The model gets images unchanged, the command prints its text, and no files remain.
func TestImageDescribe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codexConfig: "[mcp_servers.user]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \": > started\"]\n"})
	pngData, jpegData := w.writeImages()
	stdout, stderr, code := w.runCommand("image", "describe", "picture.png", "photo.dat", "--prompt", "SAY: a slope\x1b[31m", "--model", "gpt-5.5")
	if stdout != "a slope\\u001b[31m\n" || stderr != "" || code != 0 {
		t.Fatalf("%q, %q, %d", stdout, stderr, code)
	}
	requests := w.model.Requests()
	if len(requests) != 1 {
		t.Fatalf("%d requests to the model", len(requests))
	}
	for _, want := range []string{"data:image/png;base64," + pngData, "data:image/jpeg;base64," + jpegData, "2 images"} {
		if !requests[0].Contains(want) {
			t.Errorf("the model did not get %.60s…", want)
		}
	}
	if got := requests[0].ToolNames(); !slices.Equal(got, []string{"request_user_input", "apply_patch"}) {
		t.Errorf("tools offered to the model: %q", got)
	}
	if w.workspaceHasFile("started") {
		t.Error("a server of the user started")
	}
	stdout, stderr, code = w.runCommand("image", "describe", "picture.png", "--json")
	var output struct{ Text, Model string }
	if err := json.Unmarshal([]byte(stdout), &output); err != nil || !strings.Contains(output.Text, "Describe what the image shows.") || output.Model == "" || code != 0 {
		t.Errorf("%q, %q, %d", stdout, stderr, code)
	}
	w.checkNoThreads()
	if pids := w.waitProcesses(func(pids []int) bool { return len(pids) == 0 }); len(pids) > 0 {
		t.Errorf("still running after 2 s:%s", describe(pids))
	}
}

// An invalid image is refused with a reason, before or after a Codex was started.
func TestImageRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.writeImages()
	whole, err := os.ReadFile(filepath.Join(w.workspace, "picture.png"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("text.png", "x = 1\n")
	w.write("workspace/cut.png", string(whole[:len(whole)-20]))
	w.write("workspace/huge.png", string(whole)+strings.Repeat("x", 40<<20))
	for _, test := range []struct {
		want string
		args []string
	}{
		{"damaged or incomplete", []string{"cut.png"}},
		{"bytes; the maximum", []string{"huge.png"}},
		{"it is a folder", []string{"."}},
		{"no such file", []string{"gone.png"}},
		{"not a readable PNG", []string{"../text.png"}},
		{`no model "gpt-none"`, []string{"picture.png", "--model", "gpt-none"}},
		{"no description after 1.5s", []string{"picture.png", "--prompt", "SLOW: 3600000", "--timeout", "1.5s"}},
		{"told to fail", []string{"picture.png", "--prompt", "FAIL"}},
	} {
		stdout, stderr, code := w.runCommand(append([]string{"image", "describe"}, test.args...)...)
		if stdout != "" || !strings.Contains(stderr, test.want) || code != 1 {
			t.Errorf("%q: %q, %q, %d", test.args, stdout, stderr, code)
		}
	}
	if pids := w.waitProcesses(func(pids []int) bool { return len(pids) == 0 }); len(pids) > 0 {
		t.Errorf("still running after 2 s:%s", describe(pids))
	}
}

// The error of a description that took too long has the last problem that Codex reported: here the
// model's provider is down.
func TestImageReportsProblem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[codex]\nargs = [\"-c\", \"model_providers.mock.base_url='http://127.0.0.1:1'\", \"-c\", \"model_providers.mock.stream_max_retries=100\"]\n"})
	w.writeImages()
	for within := 4 * time.Second; ; within *= 2 { // Codex may take longer to start
		_, stderr, code := w.runCommand("image", "describe", "picture.png", "--timeout", within.String())
		if code != 1 || !strings.Contains(stderr, "no description after "+within.String()) {
			t.Fatalf("%q, %d", stderr, code)
		}
		if strings.Contains(stderr, "(Codex last reported: Reconnecting... ") {
			return
		}
		if within > patience {
			t.Fatalf("no report of Codex: %q", stderr)
		}
	}
}

// The policy's models and efforts apply to the worker, and the decision is logged.
func TestImagePolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmodels = [\"gpt-5.6-*\", \"gpt-5.5\"]\nefforts = [\"medium\"]\n"})
	w.writeImages()
	for _, test := range []struct{ asked, used string }{{"", "gpt-5.6-sol"}, {"gpt-6-sol", "gpt-5.5"}, {"gpt-5.6-luna", "gpt-5.6-luna"}} {
		args := []string{"image", "describe", "picture.png", "--json"}
		if test.asked != "" {
			args = append(args, "--model", test.asked)
		}
		stdout, stderr, code := w.runCommand(args...)
		requests := w.model.Requests()
		if code != 0 || !strings.Contains(stdout, `"model":"`+test.used+`"`) || len(requests) == 0 || requests[len(requests)-1].Model != test.used {
			t.Fatalf("%s: %q, %q, %d", test.asked, stdout, stderr, code)
		}
		if effort := editor.Member(requests[len(requests)-1].Body, "reasoning", "effort"); effort != "medium" {
			t.Errorf("effort %q", effort)
		}
	}
	if stdout, _, _ := w.runCommand("decisions", "list"); !strings.Contains(stdout, "bridge/image/describe") {
		t.Errorf("log:\n%s", stdout)
	}
	w.write("config.toml", "[policy]\nmodels = [\"gpt-5.6-*\"]\n")
	if _, stderr, code := w.runCommand("image", "describe", "picture.png", "--model", "gpt-5.5"); code == 0 || !strings.Contains(stderr, "policy.models") {
		t.Errorf("%q, %d", stderr, code)
	}
	w.write("config.toml", "[policy.methods]\n\"bridge/image/describe\" = \"deny\"\n")
	if _, stderr, code := w.runCommand("image", "describe", "picture.png"); code == 0 || !strings.Contains(stderr, "policy.methods") {
		t.Errorf("a denied method: %q, %d", stderr, code)
	}
	c := w.open(proxyArgv...)
	hello, err := c.Initialize(c.ctx, map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1}})
	if offered := editor.Member(hello, "bridge", "methods"); err != nil || strings.Contains(offered, "bridge/image/describe") || !strings.Contains(offered, "bridge/turn/run") {
		t.Errorf("the methods that the bridge offers: %s, error %v", offered, err)
	}
}

// The bridge declines tool calls of the model.
func TestImageTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.writeImages()
	for _, prompt := range []string{"PATCH: new.txt\nx", "RUN: touch new.txt", "ASK: may I?"} {
		stdout, stderr, code := w.runCommand("image", "describe", "picture.png", "--model", "gpt-5.5", "--prompt", prompt)
		if code > 1 || w.workspaceHasFile("new.txt") {
			t.Errorf("%q: %q, %q, %d; written: %t", prompt, stdout, stderr, code, w.workspaceHasFile("new.txt"))
		}
	}
}

// An editor that knows the bridge has images described besides its conversation.
func TestImageOverTheWire(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	pngData, _ := w.writeImages()
	c := w.open(proxyArgv...).initializeWithBridge()
	thread := c.thread(nil)
	release := make(chan struct{})
	w.model.Add(scripted.Step{When: "hold on", Reply: scripted.Reply{scripted.Paused{Until: release}}})
	turn, mark := c.startTurn(thread, "hold on")
	result := c.must("bridge/image/describe", map[string]any{
		"images": []any{map[string]any{"dataBase64": pngData}, map[string]any{"path": filepath.Join(w.workspace, "photo.dat")}}, "prompt": "SAY: two slopes", "model": "gpt-5.5",
	})
	if text := editor.Member(result, "text"); !strings.HasPrefix(text, "two slopes") || editor.Member(result, "model") != "gpt-5.5" {
		t.Errorf("%s", result)
	}
	close(release)
	if status := c.waitTurn(thread, turn, mark); status != "completed" {
		t.Errorf("status of the other turn: %q", status)
	}
	failed := c.mustFail("bridge/image/describe", map[string]any{"images": []any{map[string]any{"path": "picture.png"}}})
	if failed.Code != -32602 || !strings.Contains(failed.Message, "not absolute") {
		t.Error(failed)
	}
	failed = c.mustFail("bridge/image/describe", map[string]any{
		"images": []any{map[string]any{"dataBase64": pngData}}, "prompt": "SLOW: 3600000", "timeoutMs": 1500,
	})
	if failed.Code != -32012 {
		t.Error(failed)
	}
	if running := editor.Member(c.must("bridge/status", map[string]any{}), "images", "running"); running != "" && running != "0" {
		t.Errorf("running: %s", running)
	}

	// The end of the conversation ends the running job.
	if err := c.Send([]byte(`{"id":"last","method":"bridge/image/describe","params":{"images":[{"dataBase64":"` + pngData + `"}],"prompt":"SLOW: 3600000","timeoutMs":3600000}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.model.Await(c.ctx, func(r scripted.Request) bool {
		return strings.HasPrefix(r.UserText(), "SLOW: 3600000") && r.Contains("image/png")
	}); err != nil {
		t.Fatal(err)
	}
	c.closeAndWait()
	if pids := w.waitProcesses(func(pids []int) bool { return len(pids) == 0 }); len(pids) > 0 {
		t.Errorf("still running after 2 s:%s", describe(pids))
	}
}

// Commands of a thread can't write in the folder in which a job's Codex starts and runs git without a sandbox. The
// next job removes the folder of one whose bridge was killed.
func TestImageFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: gitConfig})
	w.writeImages()
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	killed := exec.CommandContext(deadline(t), proxyPath, "image", "describe", "picture.png", "--prompt", "SLOW: 3600000")
	killed.Env, killed.Dir = w.env, w.workspace
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	job, err := w.model.Await(deadline(t), func(r scripted.Request) bool { return r.Contains("image/png") })
	if err != nil {
		t.Fatal(err)
	}
	folders := func() []string {
		found, err := filepath.Glob(filepath.Join(w.state, store.ScratchFolder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	found := folders()
	if len(found) != 1 || !job.Contains("<cwd>"+found[0]+"</cwd>") {
		t.Fatalf("the job is not in one of %v", found)
	}
	a.turn(thread, "RUN: git init "+found[0]+"; touch $TMPDIR/written")
	if _, err := os.Stat(filepath.Join(w.home+".tmp", "written")); err != nil {
		t.Errorf("the command could not write in the temporary folder: %v", err)
	}
	if entries, err := os.ReadDir(found[0]); err != nil || len(entries) > 0 {
		t.Errorf("the command has written %v: %v", entries, err)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // killed
	if found := folders(); len(found) != 1 {
		t.Fatalf("the killed job has left %v", found)
	}
	if _, stderr, code := w.runCommand("image", "describe", "picture.png", "--prompt", "SAY: a slope"); code != 0 {
		t.Fatalf("%q, %d", stderr, code)
	}
	if found := folders(); len(found) > 0 {
		t.Errorf("the next job has left %v", found)
	}
}
