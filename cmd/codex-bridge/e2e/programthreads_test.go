//go:build linux && !portable

package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// folderRules are those of a folder's policy file.
const folderRules = `
[[policy.rule]]
command = "touch **"
decision = "deny"
reason = "Nothing is touched here."
[[policy.rule]]
command = "cp **"
decision = "ask"
reason = "A copy is made."
`

// supervisedFolders is the policy of all folders. Its rule makes the bridge supervise program starts.
const supervisedFolders = `
[policy]
mode = "enforce"
exec_rules = "on"
approval = ["never", "on-request"]
sandbox = "workspace-write"
[[policy.rule]]
command = "no-such-program **"
decision = "deny"
`

// hidingScript writes a script that hides touch, and cp with the script's argument, into a folder.
func (w *world) hidingScript(folder string) {
	w.t.Helper()
	text := "#!/bin/sh\ntouch out\ncp $0 \"$1\"\necho deployed $1\n"
	if err := os.Chmod(w.write(folder+"/deploy.sh", text), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// ruledFolders makes the folder strict, with rules for programs, and the folder loose, without them.
func (w *world) ruledFolders() (strict, loose string) {
	w.t.Helper()
	for _, folder := range []string{"strict", "loose"} {
		w.repositoryIn(folder)
		w.hidingScript(folder)
	}
	w.write("strict/.codex-bridge.toml", folderRules)
	return filepath.Join(w.root, "strict"), filepath.Join(w.root, "loose")
}

// waitTold waits until the model has read which program of a task did not start.
func (c *conversation) waitTold(task, program string) {
	c.t.Helper()
	const told = "codex-bridge refused to start these programs"
	if _, err := c.world.model.Await(c.ctx, func(q scripted.Request) bool {
		body := string(q.Body)
		return q.UserText() == task && strings.Contains(body, told) && strings.Contains(body, program)
	}); err != nil {
		c.t.Errorf("the model of %q was not told why %s did not start: %v", task, program, err)
	}
}

// The programs of a subagent are decided by the policy of its thread. Its model reads the refusal. The client of
// its parent is asked in the thread of the subagent, and warned in the one that it has opened.
func TestProgramOfSubagent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: supervisedFolders, mute: "there are many turns"})
	strict, loose := w.ruledFolders()
	r := w.newDecliningEditor(proxyArgv...)
	params := func(folder string) map[string]any {
		return map[string]any{"cwd": folder, "approvalPolicy": "on-request", "sandbox": "workspace-write"}
	}
	inStrict, inLoose := r.thread(params(strict)), r.thread(params(loose))
	var children []string
	for _, accepts := range []bool{false, true} {
		r.asked = nil
		r.answer = func(editor.Message) any { return decision(map[bool]string{true: "accept", false: "decline"}[accepts]) }
		mark := r.Mark()
		name := map[bool]string{true: "accepted", false: "declined"}[accepts]
		task := "RUN: ./deploy.sh " + name
		child, _ := r.spawnAgent(inStrict, task)
		if w.hasFile("strict/out") || w.hasFile("strict/"+name) != accepts {
			t.Errorf("%s: the denied program ran: %v, the other: %v; the model got %q", name, w.hasFile("strict/out"), w.hasFile("strict/"+name), w.lastToolOutput())
		}
		if len(r.asked) != 1 || r.asked[0].Param("threadId") != child || !strings.Contains(r.asked[0].Param("command"), "cp ./deploy.sh "+name) {
			t.Errorf("%s: the questions for the thread %s: %v", name, child, r.asked)
		}
		r.waitTold(task, "touch")
		r.waitFor(mark, "warning", func(m editor.Message) bool { // in the thread that the client has opened
			return m.Param("threadId") == inStrict && strings.Contains(m.Param("message"), `refused to start "/usr/bin/touch out"`)
		})
		children = append(children, child)
	}
	r.asked = nil
	if r.spawnAgent(inLoose, "RUN: ./deploy.sh free"); !w.hasFile("loose/out") || !w.hasFile("loose/free") || len(r.asked) > 0 {
		t.Errorf("without a rule the programs ran: %v, %v; asked %v; the model got %q", w.hasFile("loose/out"), w.hasFile("loose/free"), r.asked, w.lastToolOutput())
	}
	r.closeAndWait()
	log := w.bridgeCommand("decisions", "list", "--json")
	for _, child := range children {
		if !regexp.MustCompile(`(?m)^.*"program/start".*` + child).MatchString(log) {
			t.Errorf("the log has no program of the thread %s:\n%s", child, log)
		}
	}
}

// Clients that share a Codex, and one with a Codex of its own, run programs at once. The policy of each thread decides
// about its programs, and only the clients of that thread are asked.
func TestProgramsOfServedThreads(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, "[serve]\nmode = \"require\"\nidle = \"5s\"\n"+supervisedFolders)
	strict, loose := w.ruledFolders()
	a, b, c := w.joined(), w.joined(), w.open("/usr/bin/env", "-C", strict, proxyPath, "app-server") // with the policy file of its folder
	c.initialize(nil)
	if hubs := w.processesOf("codex-bridge", "serve"); len(hubs) != 2 {
		t.Fatalf("%d servers", len(hubs))
	}
	tests := []struct {
		*conversation
		folder, name string
		asks         bool
		accepts      bool
	}{{a, strict, "declined", true, false}, {a, strict, "second", true, true}, {b, loose, "free", false, true}, {c, strict, "accepted", true, true}}
	var all sync.WaitGroup
	threads := make([]string, len(tests))
	for i, test := range tests {
		threads[i] = test.thread(map[string]any{"cwd": test.folder, "approvalPolicy": "on-request", "sandbox": "workspace-write"})
	}
	for i, test := range tests {
		all.Go(func() {
			task := "RUN: ./deploy.sh " + test.name
			turn, mark := test.startTurn(threads[i], task)
			if test.asks {
				question := test.waitFor(mark, commandApproval, func(m editor.Message) bool { return m.Param("threadId") == threads[i] })
				if !strings.Contains(question.Param("command"), "cp ./deploy.sh "+test.name) {
					t.Errorf("%s: the question is %s", test.name, question.Params)
				}
				answer := decision(map[bool]string{true: "accept", false: "decline"}[test.accepts])
				if err := test.Reply(question, answer); err != nil {
					t.Error(err)
				}
			}
			test.waitTurn(threads[i], turn, mark)
			if test.asks {
				test.waitTold(task, "touch")
			}
		})
	}
	all.Wait()
	asks := make(map[*conversation][]string) // the threads with questions
	for i, test := range tests {
		if made := exists(filepath.Join(test.folder, test.name)); made != test.accepts {
			t.Errorf("%s: the program ran: %v", test.name, made)
		}
		if test.asks {
			asks[test.conversation] = append(asks[test.conversation], threads[i])
		}
	}
	for _, client := range []*conversation{a, b, c} {
		var asked, warned []string
		for _, m := range client.Messages() {
			switch {
			case m.Method == commandApproval && !m.Sent:
				asked = append(asked, m.Param("threadId"))
			case m.Method == "warning" && strings.Contains(m.Param("message"), `refused to start "/usr/bin/touch out"`):
				warned = append(warned, m.Param("threadId"))
			}
		}
		for _, got := range [][]string{asked, warned, asks[client]} {
			slices.Sort(got)
		}
		if !slices.Equal(asked, asks[client]) || !slices.Equal(warned, asks[client]) {
			t.Errorf("a client was asked in the threads %q and warned in %q, want %q", asked, warned, asks[client])
		}
	}
	if exists(filepath.Join(strict, "out")) || !exists(filepath.Join(loose, "out")) {
		t.Errorf("the denied program ran: %v; where no rule denies it: %v", exists(filepath.Join(strict, "out")), exists(filepath.Join(loose, "out")))
	}
	for _, client := range []*conversation{a, b, c} {
		client.Close(5 * time.Second)
	}
}

// programConfig is a configuration with folderRules for all folders.
func programConfig(off bool, approval string) string {
	config := strings.NewReplacer("[policy]", "[policy]\ncommands = []", `["never", "on-request"]`, approval).Replace(supervisedFolders) + folderRules
	if off {
		config = strings.Replace(config, `exec_rules = "on"`, `exec_rules = "off"`, 1)
	}
	return config
}

// Below exec, where no person can answer, a program does not start that a rule denies or asks about.
func TestProgramsBelowExec(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		off              bool
		approval, reason string
	}{
		"never":   {false, `["never"]`, "the rule wants a question, and this thread has none about a program"},
		"asks":    {false, `["on-request"]`, "this client answers no such questions"},
		"control": {true, `["never"]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{codex: codexPath, config: programConfig(test.off, test.approval)})
			w.hidingScript("workspace")
			out, stderr, status := w.execute(proxyPath, "", "exec", "--json", "-s", "workspace-write", "RUN: ./deploy.sh copied")
			if status != 0 || w.workspaceHasFile("out") != test.off || w.workspaceHasFile("copied") != test.off || !strings.Contains(out, "deployed copied") {
				t.Errorf("status %d\n%s%s", status, out, stderr)
			}
			if !test.off && (!strings.Contains(stderr, `refused to start "/usr/bin/touch out"`) || !strings.Contains(stderr, test.reason)) {
				t.Errorf("the user was not told:\n%s", stderr)
			}
		})
	}
}

// The user of the terminal interface is asked about a program of a script, and a denied one does not start.
func TestProgramsBelowTerminalInterface(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]bool{"decided": false, "control": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{codexConfig: terminalConfig, codex: codexPath, config: programConfig(off, `["on-request"]`)})
			w.hidingScript("workspace")
			term := w.newScreen(proxyPath, "-s", "workspace-write", "RUN: ./deploy.sh copied")
			if !off {
				term.waitUntil("the question", func() bool { return strings.Contains(visible(term.text()), "Yes, proceed") })
				if w.workspaceHasFile("copied") || !strings.Contains(visible(term.text()), "A copy is made") {
					t.Error("the program has started, or the question does not say why it is asked")
				}
				time.Sleep(time.Second) // a question takes no key at once
				term.write("y")
			}
			term.waitUntil("the turn has ended", func() bool { return strings.Contains(visible(term.text()), "Worked for") })
			if w.workspaceHasFile("out") != off || !w.workspaceHasFile("copied") {
				t.Errorf("the denied program ran: %v, the accepted one: %v", w.workspaceHasFile("out"), w.workspaceHasFile("copied"))
			}
			term.quit()
		})
	}
}
