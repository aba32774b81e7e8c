//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/cmd/internal/scripted"
)

// execPolicy allows what the scenes of TestExec need.
const execPolicy = `[policy]
mode = "enforce"
approval = ["on-request", "never"]
sandbox = "workspace-write"
commands = []
config_keys = ["model_reasoning_*", "mcp_servers.**", "features.no_such_feature", "tools.**"]
`

// execute runs a program in the workspace, as a script does.
func (w *world) execute(program, stdin string, args ...string) (stdout, stderr string, status int) {
	w.t.Helper()
	cmd := exec.CommandContext(deadline(w.t), program, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = w.env, w.workspace, strings.NewReader(stdin)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return out.String(), problems.String(), cmd.ProcessState.ExitCode()
}

// execScene is one call. THREAD in an argument stands for the thread of the world's first call.
type execScene struct {
	stdin string
	args  []string
}

var (
	reasoned = `ITEM: {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"**Think** <hard>"},{"type":"summary_text","text":"again"}]}`
	searched = `ITEM: {"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"weather","queries":["weather"]}}`
	opened   = `ITEM: {"type":"web_search_call","id":"ws_2","status":"completed","action":{"type":"open_page","url":"http://x/"}}`
	found    = `ITEM: {"type":"web_search_call","id":"ws_3","status":"completed","action":{"type":"find_in_page","url":"http://x/","pattern":"y"}}`
	bare     = `ITEM: {"type":"web_search_call","id":"ws_4","status":"completed"}`
	planned  = `CALL: update_plan {"explanation":"why","plan":[{"step":"one","status":"completed"},{"step":"two","status":"in_progress"},{"step":"three","status":"pending"}]}`
)

// execScenes run one after the other in a world.
var execScenes = []execScene{
	{"", []string{"exec", "SAY: hello"}},
	{"", []string{"e", "-s", "workspace-write", "RUN: echo hi; touch made"}},
	{"", []string{"exec", "-s", "workspace-write", "RUN: echo hi; exit 3"}},
	{"", []string{"exec", "RUN: seq 1 40"}},
	{"", []string{"exec", "-s", "workspace-write", "PATCH: new.txt\none\ntwo"}},
	{"", []string{"exec", reasoned + "\nSAY: done"}},
	{"", []string{"exec", searched + "\n" + opened + "\n" + found + "\n" + bare + "\nSAY: done"}},
	{"", []string{"exec", "-c", "tools.update_plan.enabled=true", planned}},
	{"", []string{"exec", "CALL: no_such_tool {}"}},
	{"", []string{"exec", "-m", "gpt-6.2-sol", "-o", "last", `CALL: send_message_to_user_async {"message":"**look** here"}`}},
	{"", []string{"exec", "-m", "gpt-6.2-sol", `CALL: request_user_input_async {"questions":[{"title":"Which?","options":["a","b"]}]}`}},
	{"", []string{"exec", "FAIL"}},
	{"", []string{"exec", "FAIL: 503"}},
	{"", []string{"exec", "-m", "no-such-model", "SAY: x"}},
	{"", []string{"-m", "other-model", "-s", "workspace-write", "exec", "SAY: x"}},
	{"", []string{"exec", "-c", "model_reasoning_effort=high", "-c", "model_reasoning_summary=detailed", "SAY: x"}},
	{"", []string{"exec", "--output-schema", "schema.json", "-o", "last", `SAY: {"a":"b"}`}},
	{"", []string{"exec", "-o", "last", reasoned}}, // no message
	{"", []string{"exec", "-o", "last", "FAIL"}},
	{"", []string{"exec", "-o", "/no/such/folder/x", "SAY: x"}},
	{"", []string{"exec", "--output-schema", "missing.json", "SAY: x"}},
	{"", []string{"exec", "-C", "outside", "SAY: x"}},
	{"", []string{"exec", "-C", "../outside", "SAY: x"}},
	{"", []string{"exec", "-C", "../outside/emptied", "SAY: x"}},
	{"", []string{"exec", "-C", "../outside", "--skip-git-repo-check", "SAY: x"}},
	{"SAY: piped\n", []string{"exec"}},
	{"SAY: piped", []string{"exec", "-"}},
	{"\xff\xfem\x00o\x00r\x00e\x00", []string{"exec", "hey"}}, // UTF-16
	{"\xfe\xff\xd8\x00", []string{"exec"}},
	{"mor\xe9", []string{"exec", "hey"}},
	{"more\n", []string{"exec", "hey"}},
	{"more", []string{"exec", "hey"}},
	{"", []string{"exec"}},
	{"", []string{"exec", ""}},
	{"", []string{"exec", "--ephemeral", "--thread-source", "user", "SAY: x"}},
	{"", []string{"exec", "--strict-config", "-i", "missing.png,image.png", "--", "SAY: x"}},
	{"", []string{"exec", "resume", "--last", "SAY: again"}},
	{"SAY: piped", []string{"exec", "-s", "workspace-write", "resume", "--last", "--all", "-"}},
	{"", []string{"exec", "SAY: before", "resume", "--last"}},
	{"", []string{"exec", "resume", "--last"}},
	{"", []string{"exec", "resume", "THREAD", "SAY: the first"}},
	{"", []string{"exec", "resume", "01a219b1-0000-7e90-a0fb-d65c247f64af", "SAY: x"}},
	{"", []string{"exec", "resume", "no-such-name", "SAY: x"}},
	{"", []string{"exec", "fork", "THREAD"}},
	{"", []string{"exec", "fork", "THREAD", "SAY: forked"}},
	{"", []string{"exec", "fork", "no-such-name", "SAY: x"}},
	{"", []string{"exec", "review", "--uncommitted"}},
	{"", []string{"exec", "review", "--base", "main"}},
	{"", []string{"exec", "review", "--commit", "0123456789", "--title", "T"}},
	{"SAY: look\n", []string{"exec", "review", "-"}},
	{"", []string{"exec", "review"}},
}

// execOutcome is what a caller sees. Ids, times and the folders of the world are replaced.
func (w *world) execOutcome(program, thread string, s execScene, more ...string) (outcome, id string) {
	args := append([]string{}, s.args...)
	for i := range args {
		args[i] = strings.Replace(args[i], "THREAD", thread, 1)
	}
	for i, arg := range args { // flags of all commands of exec
		if arg == "exec" || arg == "e" {
			at := i + 1
			for _, sub := range []string{"resume", "fork", "review"} {
				if at < len(args) && args[at] == sub {
					at++
				}
			}
			args = append(append(append([]string{}, args[:at]...), more...), args[at:]...)
			break
		}
	}
	w.write("workspace/last", "before")
	stdout, stderr, status := w.execute(program, s.stdin, args...)
	last, err := os.ReadFile(filepath.Join(w.workspace, "last"))
	if err != nil {
		w.t.Fatal(err)
	}
	id = threadUUID.FindString(stdout)
	text := fmt.Sprintf("%q\nstatus %d\n%s\nstderr\n%s\nlast %s", s.args, status, stdout, stderr, last)
	text = strings.NewReplacer(w.root, "ROOT", w.model.URL(), "MODEL").Replace(text)
	for pattern, name := range map[*regexp.Regexp]string{
		threadUUID: "ID", regexp.MustCompile(` in \d+ms`): " in Nms", regexp.MustCompile(`(?m)\d{4}-\d\d-\d\dT[\d:.]+Z`): "TIME", regexp.MustCompile(`(msg|call)_\d+`): "ITEM",
	} {
		text = pattern.ReplaceAllString(text, name)
	}
	return text, id
}

var threadUUID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)

// Under the policy, exec and review do what those of Codex do: the same events or texts on the same
// streams, the same exit status, and the same last message.
//
// The wide form also compares the texts for people.
func TestExec(t *testing.T) {
	t.Parallel()
	forms := map[string][]string{"json": {"--json"}}
	if wide() {
		forms["text"] = nil
	}
	for name, flags := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var outcomes [2][]string
			var threads [2]string
			var worlds [2]*world
			for i, program := range []string{codexPath, proxyPath} {
				w := newWorld(t, options{codex: codexPath, config: execPolicy})
				w.write("workspace/schema.json", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)
				w.write("outside/file", "")                // no repository
				w.write("outside/emptied/.git/config", "") // nor this
				for _, s := range execScenes {
					outcome, thread := w.execOutcome(program, threads[i], s, flags...)
					if threads[i] == "" {
						threads[i] = thread
						if thread == "" { // the text is on stderr
							threads[i] = w.lastSession()
						}
					}
					outcomes[i] = append(outcomes[i], outcome)
				}
				worlds[i] = w
			}
			for i := range execScenes {
				if diff := cmp.Diff(outcomes[0][i], outcomes[1][i]); diff != "" {
					t.Errorf("%q (-codex +bridge)\n%s", execScenes[i].args, diff)
				}
			}
			requests, others := worlds[0].model.Requests(), worlds[1].model.Requests()
			if len(requests) != len(others) {
				t.Fatalf("the model got %d requests, not %d", len(others), len(requests))
			}
			for i := range requests { // with the schema
				if a, b := textFormat(t, requests[i]), textFormat(t, others[i]); a != b {
					t.Errorf("the format of the answer is %s, not %s", b, a)
				}
			}
		})
	}
}

// lastSession returns the id of the only session.
func (w *world) lastSession() string {
	files, err := filepath.Glob(filepath.Join(w.home, "sessions", "*", "*", "*", "*.jsonl"))
	if err != nil || len(files) != 1 {
		w.t.Fatalf("sessions: %q, %v", files, err)
	}
	return threadUUID.FindString(filepath.Base(files[0]))
}

func textFormat(t *testing.T, r scripted.Request) string {
	t.Helper()
	var body struct{ Text json.RawMessage }
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	return string(body.Text)
}

// Calls of a server's tools, and the colours of a terminal.
func TestExecOfMCPTool(t *testing.T) {
	t.Parallel()
	var outcomes [2]string
	for i, program := range []string{codexPath, proxyPath} {
		w := newWorld(t, options{codex: codexPath, config: execPolicy})
		server := filepath.Join(modules, "@modelcontextprotocol", "server-everything", "dist", "index.js")
		args := []string{"exec", "-c", "mcp_servers.x.command=node", "-c", "mcp_servers.x.required=true", "-c", "mcp_servers.x.args=[\"" + server + "\"]"}
		for _, flag := range []string{"--json", "--color=always"} {
			for _, call := range []string{`CALL: mcp__x/echo {"message":"hi"}`, `CALL: mcp__x/echo {}`} {
				outcome, _ := w.execOutcome(program, "", execScene{args: append(args, flag, call)})
				outcomes[i] += regexp.MustCompile(`Wall time: [\d.]+`).ReplaceAllString(outcome, "Wall time") + "\n"
			}
		}
	}
	if diff := cmp.Diff(outcomes[0], outcomes[1]); diff != "" || !strings.Contains(outcomes[0], "mcp_tool_call") {
		t.Errorf("(-codex +bridge)\n%s", diff)
	}
}

// SIGINT interrupts the turn, and SIGTERM ends the program. No process is left.
func TestExecInterrupted(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			var outcomes [2]string
			for i, program := range []string{codexPath, proxyPath} {
				w := newWorld(t, options{codex: codexPath, config: execPolicy})
				cmd := exec.CommandContext(deadline(t), program, "exec", "--json", "-s", "workspace-write", "-o", "last", "RUN: touch made; sleep 600")
				cmd.Env, cmd.Dir = w.env, w.workspace
				events, err := os.Create(filepath.Join(w.root, "events"))
				if err != nil {
					t.Fatal(err)
				}
				defer events.Close()
				printed := func() string {
					text, err := os.ReadFile(events.Name())
					if err != nil {
						t.Fatal(err)
					}
					return string(text)
				}
				cmd.Stdout = events
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				for deadline := deadline(t); (!w.workspaceHasFile("made") || !strings.Contains(printed(), "item.started")) && deadline.Err() == nil; {
					time.Sleep(20 * time.Millisecond)
				}
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
				outcomes[i] = threadUUID.ReplaceAllString(cmd.ProcessState.String()+"\n"+printed(), "ID")
				for deadline := deadline(t); len(w.processes()) > 0 && program == proxyPath; time.Sleep(20 * time.Millisecond) {
					if deadline.Err() != nil {
						t.Fatalf("still running: %s", describe(w.processes()))
					}
				}
			}
			if diff := cmp.Diff(outcomes[0], outcomes[1]); diff != "" {
				t.Errorf("(-codex +bridge)\n%s", diff)
			}
		})
	}
}

// A reply that can't be written is a failure, as with Codex alone.
func TestReplyIsNotLostInSilence(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	for _, args := range [][]string{{codexPath, "exec", "--skip-git-repo-check", "SAY: hi"}, {proxyPath, "exec", "SAY: hi"}, {proxyPath, "run", "--session", "s", "SAY: hi"}, {proxyPath, "run", "--session", "s", "--json", "SAY: hi"}} {
		w := newWorld(t, options{codex: codexPath, config: execPolicy})
		cmd := exec.CommandContext(deadline(t), args[0], args[1:]...)
		cmd.Env, cmd.Dir, cmd.Stdout = w.env, w.workspace, full
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Run(); err == nil || !strings.Contains(strings.ToLower(stderr.String()), "no space left on device") {
			t.Errorf("%q ends with %v\n%s", args, err, stderr.String())
		}
	}
}

// The policy holds for exec, whatever its flags say. Codex's own exec does all of it.
func TestExecUnderPolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config, file string
		args         []string
	}{
		"rule":        {execPolicy + "[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"deny\"\n", "workspace/made", []string{"exec", "-s", "workspace-write", "RUN: touch made"}},
		"sandbox":     {execPolicy, "outside", []string{"exec", "-s", "danger-full-access", "RUN: touch ../outside"}},
		"before":      {execPolicy, "outside", []string{"-s", "danger-full-access", "e", "RUN: touch ../outside"}},
		"override":    {execPolicy, "outside", []string{"exec", "-c", `sandbox_mode="danger-full-access"`, "RUN: touch ../outside"}},
		"folder":      {execPolicy, "other/made", []string{"exec", "-s", "workspace-write", "--add-dir", "../other", "RUN: touch ../other/made"}},
		"every":       {strings.Replace(execPolicy, `"on-request", "never"`, `"untrusted"`, 1), "workspace/made", []string{"exec", "-s", "workspace-write", "RUN: touch made"}},
		"review":      {execPolicy, "outside", []string{"-c", `sandbox_mode="danger-full-access"`, "review", "RUN: touch ../outside"}},
		"full access": {execPolicy, "outside", []string{"exec", "--yolo", "RUN: touch ../outside"}},
	} {
		if !isSampledName(2, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, program := range []string{codexPath, proxyPath} {
				w := newWorld(t, options{codex: codexPath, config: c.config})
				w.write("other/file", "")
				_, stderr, status := w.execute(program, "", c.args...)
				if w.hasFile(c.file) != (program == codexPath) {
					t.Errorf("%s made %s: %v, status %d\n%s", filepath.Base(program), c.file, program != codexPath, status, stderr)
				}
				if want := map[bool]int{true: 2}[program == proxyPath && name == "full access"]; status != want {
					t.Errorf("%s ends with %d\n%s", filepath.Base(program), status, stderr)
				}
			}
		})
	}
}

// With escalation "ask" the request is declined, and the turn goes on.
func TestExecDeclines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codex: codexPath, config: strings.Replace(execPolicy, `, "never"`, "", 1) + "escalation = \"ask\"\n"})
	out, stderr, status := w.execute(proxyPath, "", "exec", "--json", "-s", "workspace-write", "ESCALATE: touch ../outside")
	if status != 0 || w.hasFile("outside") || !strings.Contains(out, `"type":"turn.completed"`) || strings.Contains(out, `"type":"error"`) {
		t.Errorf("status %d: %s%s", status, out, stderr)
	}
}

// The events of --json are those of Codex alone, also where the bridge has notices for the user: about arguments that it
// has removed, and about the project. A refused flag is an event, too.
func TestExecEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codex: codexPath, config: "[policy]\napproval = [\"untrusted\"]\nsandbox = \"read-only\"\n"})
	w.write("workspace/AGENTS.md", "Be brief.")
	args := []string{"exec", "--json", "-c", `approval_policy="on-request"`, "-s", "workspace-write", "SAY: hello"}
	events := func(program string) (string, string) {
		out, stderr, status := w.execute(program, "", args...)
		if status != 0 {
			t.Errorf("%s: status %d\n%s", program, status, stderr)
		}
		return threadUUID.ReplaceAllString(out, "ID"), stderr
	}
	want, _ := events(codexPath)
	got, stderr := events(proxyPath)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-codex +bridge)\n%s", diff)
	}
	for _, text := range []string{"warning: codex-bridge has removed -s workspace-write", "warning: codex-bridge has found that"} {
		if !strings.Contains(strings.ReplaceAll(stderr, `\"`, `"`), text) {
			t.Errorf("no %q in\n%s", text, stderr)
		}
	}
	out, stderr, status := w.execute(proxyPath, "", "exec", "--json", "--yolo", "x")
	if want := `{"type":"error","message":"codex-bridge: --yolo: `; status != 2 || !strings.HasPrefix(out, want) || strings.Count(out, "\n") != 1 || !strings.HasPrefix(stderr, "codex-bridge: --yolo: ") {
		t.Errorf("status %d\n%s%s", status, out, stderr)
	}
}

// Under the name codex, exec runs under the policy too, and the decision log has its requests.
func TestExecAsCodex(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{codex: codexPath, config: execPolicy})
	link := filepath.Join(w.root, "codex")
	if err := os.Symlink(proxyPath, link); err != nil {
		t.Fatal(err)
	}
	out, stderr, status := w.execute(link, "", "exec", "-s", "danger-full-access", "RUN: touch ../outside; touch made")
	if status != 0 || w.hasFile("outside") || !strings.Contains(out, "Read-only") || !strings.Contains(stderr, "warning: codex-bridge has removed -s danger-full-access") {
		t.Errorf("status %d: %s%s", status, out, stderr)
	}
	if log, _, _ := w.runCommand("decisions", "list"); !strings.Contains(log, "thread/start") || !strings.Contains(log, "command line") {
		t.Errorf("decisions:\n%s", log)
	}
}

// exec uses the API key of CODEX_API_KEY, which an app-server does not, and Codex does not store it.
func TestExecWithKey(t *testing.T) {
	t.Parallel()
	var got [2]atomic.Value
	for i, program := range []string{codexPath, proxyPath} {
		server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				got[i].Store(r.Header.Get("Authorization") + " " + r.Header.Get("Originator"))
			}
			http.Error(out, "no", http.StatusBadRequest)
		}))
		defer server.Close()
		w := newWorld(t, options{codex: codexPath, config: strings.Replace(execPolicy, `"tools.**"`, `"model_provider"`, 1), codexConfig: fmt.Sprintf(
			"[model_providers.keyed]\nname = \"keyed\"\nbase_url = %q\nwire_api = \"responses\"\nrequires_openai_auth = true\nsupports_websockets = false\n", server.URL)})
		w.env = append(w.env, "CODEX_API_KEY=sk-of-the-test")
		if _, stderr, status := w.execute(program, "", "exec", "-c", `model_provider="keyed"`, "SAY: x"); status != 1 || w.hasFile("home/auth.json") {
			t.Errorf("%s: status %d\n%s", filepath.Base(program), status, stderr)
		}
	}
	if got[0].Load() != got[1].Load() || got[0].Load() != "Bearer sk-of-the-test codex_exec" {
		t.Errorf("the provider got %q, not %q", got[1].Load(), got[0].Load())
	}
}

// OpenAI's SDK for TypeScript runs on the bridge as on Codex.
func TestExecOfSDK(t *testing.T) {
	t.Parallel()
	var outcomes [2]string
	for i, program := range []string{codexPath, proxyPath} {
		w := newWorld(t, options{codex: codexPath, config: execPolicy})
		w.write("workspace/image.png", "no image")
		cmd := exec.CommandContext(deadline(t), "node", filepath.Join(clients, "sdk.mjs"), program)
		cmd.Env, cmd.Dir = w.env, w.workspace
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s%s", err, out, stderr.String())
		}
		outcomes[i] = threadUUID.ReplaceAllString(strings.ReplaceAll(string(out), w.root, "ROOT"), "ID")
	}
	if diff := cmp.Diff(outcomes[0], outcomes[1]); diff != "" {
		t.Errorf("(-codex +bridge)\n%s", diff)
	}
	for _, want := range []string{`"finalResponse":"first"`, `"finalResponse":"second"`, `"finalResponse":"{\"a\":\"b\"}"`, `"command_execution"`, "image.png", `"aborted":true`} {
		if !strings.Contains(outcomes[1], want) {
			t.Errorf("without %s:\n%s", want, outcomes[1])
		}
	}
}
