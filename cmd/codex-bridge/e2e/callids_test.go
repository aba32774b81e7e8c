//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// The model chooses the ids of its calls, and Codex accepts an id twice.

const callIDConfig = `
[policy]
mode = "enforce"
approval = ["on-request", "untrusted"]
sandbox = "workspace-write"
escalation = "ask"
protected_paths = [".git", ".codex", ".agents", ".github"]
`

// answering is a conversation whose client answers approvals by a function, and counts them.
type answering struct {
	*conversation
	mu        sync.Mutex
	questions int
}

// answering starts a conversation. accepts gets the number of the question, from 1.
func (w *world) answering(accepts func(n int, m editor.Message) bool) *answering {
	a := &answering{}
	a.conversation = &conversation{world: w, ctx: deadline(w.t), Editor: w.start(proxyArgv, editor.Options{
		Answer: func(_ context.Context, m editor.Message) (any, *editor.Error) {
			a.mu.Lock()
			a.questions++
			n := a.questions
			a.mu.Unlock()
			if accepts(n, m) {
				return decision("accept"), nil
			}
			return decision("decline"), nil
		},
	})}
	a.initialize(nil)
	return a
}

// play runs one turn in which the model gives the replies.
func (a *answering) play(approval string, replies ...scripted.Reply) (mark int) {
	when := "GO"
	for _, r := range replies {
		a.model.Add(scripted.Step{When: when, Reply: r})
		when = ""
	}
	a.model.Add(scripted.Step{Reply: scripted.Reply{scripted.Text("done")}})
	thread := a.thread(map[string]any{"approvalPolicy": approval, "sandbox": "workspace-write"})
	turn, mark := a.startTurn(thread, "GO")
	a.waitTurn(thread, turn, mark)
	return mark
}

func commandCall(t *testing.T, id, command string, escalated bool) scripted.Call {
	arguments := map[string]any{"cmd": command}
	if escalated {
		arguments["sandbox_permissions"] = "require_escalated"
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return scripted.Call{Tool: "exec_command", Arguments: raw, ID: id}
}

func patchCall(t *testing.T, id, folder, file string) scripted.Call {
	cd := ""
	if folder != "" {
		cd = folder + " && "
	}
	return commandCall(t, id, cd+"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: "+file+"\n+text\n*** End Patch\nEOF\n", false)
}

// A person's consent to one call does not count for a later one with the same id. The two are asked
// about one by one.
func TestConsentIsNotForALaterCallWithTheSameID(t *testing.T) {
	for _, approval := range []string{"on-request", "untrusted"} {
		for _, second := range []string{"c1", "c2"} { // c2 is the control
			for _, kind := range []string{"command", "patch"} {
				if !isSampledName(3, approval+"/"+second+"/"+kind) {
					continue
				}
				t.Run(approval+"/"+second+"/"+kind, func(t *testing.T) {
					w := newWorld(t, options{config: callIDConfig, codexConfig: inWorkspace})
					outside := filepath.Join(w.root, "outside")
					if err := os.MkdirAll(outside, 0o755); err != nil {
						t.Fatal(err)
					}
					w.write("workspace/sub/.github/here", "x")
					first := scripted.Item(commandCall(t, "c1", "echo harmless > sub/.github/notes.txt", false))
					then := commandCall(t, second, "touch "+outside+"/planted", true)
					if kind == "patch" {
						first = scripted.CustomCall{Tool: "apply_patch", ID: "c1", Input: "*** Begin Patch\n*** Add File: sub/.github/notes.txt\n+harmless\n*** End Patch\n"}
						then = patchCall(t, second, "", outside+"/planted")
					}
					a := w.answering(func(n int, _ editor.Message) bool { return n == 1 })
					a.play(approval, scripted.Reply{first}, scripted.Reply{then})
					if questions := map[string]int{"c1": 1, "c2": 2}[second]; a.questions != questions || w.hasFile("outside/planted") || !w.hasFile("workspace/sub/.github/notes.txt") {
						t.Errorf("%d questions; outside written: %t; inside: %t", a.questions, w.hasFile("outside/planted"), w.hasFile("workspace/sub/.github/notes.txt"))
					}
				})
			}
		}
	}
}

// Of two calls with one id that run at the same time, the one that starts later is denied.
// Otherwise the files of one would be taken for those of the other. If one ends before the other
// starts, both are decided by their own files.
func TestCallsWithOneIDDoNotRunAtOnce(t *testing.T) {
	rule := "[[policy.rule]]\ntool = \"file\"\npath = \"${workspace}/**\"\ndecision = \"allow\"\n"
	for _, escalation := range []string{"ask", "deny"} {
		for range 3 {
			t.Run(escalation, func(t *testing.T) {
				w := newWorld(t, options{config: strings.Replace(callIDConfig, `escalation = "ask"`, `escalation = "`+escalation+`"`, 1) + rule, codexConfig: inWorkspace})
				outside := filepath.Join(w.root, "outside")
				if err := os.MkdirAll(outside, 0o755); err != nil {
					t.Fatal(err)
				}
				a := w.answering(func(int, editor.Message) bool { return false })
				a.play("on-request", scripted.Reply{patchCall(t, "c1", "A=1 cd "+outside, "planted"), patchCall(t, "c1", "", "inside")})
				if w.hasFile("outside/planted") {
					t.Error("a patch was applied outside the workspace")
				}
			})
		}
	}
}

// A person's answer to one of several calls at once is not for another.
func TestAnswerIsNotForAnotherCallWithTheSameID(t *testing.T) {
	for range 2 {
		w := newWorld(t, options{config: callIDConfig + "[approvals]\ntimeout = \"8s\"\n", codexConfig: inWorkspace})
		a := w.answering(func(_ int, m editor.Message) bool {
			if strings.Contains(m.Param("command"), "benign") {
				time.Sleep(time.Second) // the other calls are waiting by then
				return true
			}
			return false
		})
		a.play("untrusted", scripted.Reply{
			commandCall(t, "c1", "echo benign", false), commandCall(t, "c1", "touch planted; echo $$ >> planted", false), commandCall(t, "c3", "touch planted; echo $$ >> planted", false),
		})
		if w.hasFile("workspace/planted") {
			t.Error("a command ran that the person did not accept")
		}
	}
}

// The client is sent the item of a patch although a patch of an earlier turn with the same id was
// declined.
func TestLaterItemWithTheSameIDReachesClient(t *testing.T) {
	w := newWorld(t, options{config: callIDConfig, codexConfig: inWorkspace})
	w.write("outside/here", "x")
	a := w.answering(func(int, editor.Message) bool { return false })
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	mark := a.Mark()
	for text, patch := range map[string]scripted.Item{
		"FIRST":  scripted.CustomCall{Tool: "apply_patch", ID: "c1", Input: "*** Begin Patch\n*** Add File: sub/.github/notes.txt\n+harmless\n*** End Patch\n"},
		"SECOND": patchCall(t, "c1", "", filepath.Join(w.root, "outside/planted")),
	} {
		a.model.Add(scripted.Step{When: text, Reply: scripted.Reply{patch}})
	}
	for _, text := range []string{"FIRST", "SECOND"} {
		turn, at := a.startTurn(thread, text)
		a.waitTurn(thread, turn, at)
	}
	var shown []string
	for _, m := range a.Messages()[mark:] {
		if params := string(m.Params); m.Method == "item/started" && strings.Contains(params, `"fileChange"`) {
			shown = append(shown, params)
		}
	}
	if len(shown) != 2 || !strings.Contains(shown[len(shown)-1], "planted") || a.questions != 2 {
		t.Errorf("%d questions about the items %q", a.questions, shown)
	}
}

// A call with the id of an earlier one of its turn does not run, even if that one has ended. In the
// next turn it does.
func TestIDIsUsedOnceInTurn(t *testing.T) {
	w := newWorld(t, options{config: callIDConfig + touchRule, codexConfig: inWorkspace})
	a := w.answering(func(int, editor.Message) bool { return true })
	a.model.Add(scripted.Step{When: "ONE", Reply: scripted.Reply{commandCall(t, "c1", "touch first", false)}})
	a.model.Add(scripted.Step{Reply: scripted.Reply{commandCall(t, "c1", "touch second", false)}})
	a.model.Add(scripted.Step{Reply: scripted.Reply{scripted.Text("done")}})
	a.model.Add(scripted.Step{When: "TWO", Reply: scripted.Reply{commandCall(t, "c1", "touch third", false)}})
	thread := a.thread(map[string]any{"approvalPolicy": "untrusted", "sandbox": "workspace-write"})
	turn, mark := a.startTurn(thread, "ONE")
	a.waitTurn(thread, turn, mark)
	if output := w.lastToolOutput(); !strings.Contains(output, "give each call an id of its own") {
		t.Errorf("the model got %q", output)
	}
	turn, mark = a.startTurn(thread, "TWO")
	a.waitTurn(thread, turn, mark)
	if !w.hasFile("workspace/first") || w.hasFile("workspace/second") || !w.hasFile("workspace/third") || a.questions > 0 {
		t.Errorf("first %v, second %v, third %v; %d questions", w.hasFile("workspace/first"), w.hasFile("workspace/second"), w.hasFile("workspace/third"), a.questions)
	}
}
