//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// otherHook is a PreToolUse hook of the user besides the bridge's.
type otherHook struct {
	output   string // of the hook; with $OUT for a file outside the sandbox
	rules    string // of the user, for Codex
	approval string // of the thread
	config   string // of the bridge, with $HOOK for the hook's program
	handler  bool   // the bridge runs the hook, and not Codex
}

// otherOutcome is the effect of one turn in which the model runs a command under an otherHook.
type otherOutcome struct {
	original, replaced, outside bool   // which files exist
	status                      string // of the turn
	asked                       string // the command of the last question
	model                       string // what the model got
	log                         string // the refusals in the decision log
	warnings                    int
}

const replacing = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"COMMAND"}}}`

// run makes the model run a command that creates the file "original".
func (o otherHook) run(t *testing.T, argv ...string) (out otherOutcome) {
	t.Helper()
	w := newWorld(t, options{})
	outside := filepath.Join(w.root, "out")
	hook := w.write("hook.sh", "#!/bin/sh\ncat >/dev/null\ncat <<'END'\n"+strings.ReplaceAll(o.output, "$OUT", outside)+"\nEND\n")
	if err := os.Chmod(hook, 0o700); err != nil {
		t.Fatal(err)
	}
	if o.rules != "" {
		w.write("home/rules/own.rules", o.rules)
	}
	if !o.handler {
		w.write("home/hooks.json", fmt.Sprintf(`{"hooks":{"PreToolUse":[{"matcher":".*","hooks":[{"type":"command","command":%q}]}]}}`, hook))
		w.trustHooks()
	}
	w.write("config.toml", strings.ReplaceAll(o.config, "$HOOK", hook))
	w.env = append(w.env, "CODEX_BRIDGE_CONFIG="+filepath.Join(w.root, "config.toml"))
	w.model.Add(scripted.Step{When: "GO", Reply: scripted.Reply{scripted.Run("touch original *")}})
	a := w.newAcceptingEditor(argv...)
	thread := a.thread(map[string]any{"approvalPolicy": o.approval, "sandbox": "workspace-write"})
	turn, mark := a.startTurn(thread, "GO")
	out.status = a.waitTurn(thread, turn, mark)
	if out.status == "interrupted" {
		a.waitFor(mark, "warning", func(m editor.Message) bool { return strings.Contains(fmt.Sprint(m.Param("message")), "has replaced") })
	}
	for _, m := range a.Messages()[mark:] {
		switch {
		case m.Method == "item/commandExecution/requestApproval":
			out.asked = fmt.Sprint(m.Param("command"))
		case m.Method == "warning":
			out.warnings++
		}
	}
	out.model = w.lastToolOutput()
	a.closeAndWait()
	_, err := os.Stat(outside)
	out.original, out.replaced, out.outside = w.hasFile("workspace/original"), w.hasFile("workspace/new"), err == nil
	if argv[0] != codexPath {
		out.log, _, _ = w.runCommand("decisions", "list", "--json", "--verdict", "deny")
	}
	return out
}

// Codex runs the hooks of a call at the same time, and takes the input of the one that ends last. So a hook of
// the user must neither lose its input to the bridge's, nor run what the bridge has not judged.
func TestOtherHooksReplaceInput(t *testing.T) {
	t.Parallel()
	const enforced = "[policy]\nsandbox = \"workspace-write\"\nescalation = \"deny\"\n"
	leaves := otherHook{output: strings.ReplaceAll(replacing, "COMMAND", "touch $OUT"), rules: allow(`["touch"]`), approval: "on-request", config: enforced}
	stays := otherHook{output: strings.ReplaceAll(replacing, "COMMAND", "touch new; sleep 3"), approval: "on-request", config: enforced}
	gated := stays
	gated.approval, gated.config = "untrusted", "[policy]\napproval = [\"untrusted\"]\nsandbox = \"workspace-write\"\n"
	watching, handler := stays, leaves
	watching.output, watching.approval = "", "on-request"
	handler.handler, handler.config = true, enforced+"[[hooks.handler]]\nevent = \"pre_tool_use\"\ncommand = [\"$HOOK\"]\n"
	for name, test := range map[string]struct {
		hook   otherHook
		alone  bool
		passed func(otherOutcome) bool
	}{
		"alone, let out":   {leaves, true, func(o otherOutcome) bool { return o.outside && o.asked == "" }},
		"alone, untrusted": {gated, true, func(o otherOutcome) bool { return o.replaced && strings.Contains(o.asked, "touch new") }},
		"let out": {leaves, false, func(o otherOutcome) bool {
			return !o.outside && strings.Contains(o.model, "hooks.json") && strings.Contains(o.model, "own.rules") && strings.Contains(o.model, "[[hooks.handler]]")
		}},
		"asked about first": {gated, false, func(o otherOutcome) bool {
			return !o.replaced && o.asked == "" && strings.Contains(o.model, "a person would be asked about another call")
		}},
		"compared": {stays, false, func(o otherOutcome) bool {
			return o.status == "interrupted" && o.warnings == 1 && strings.Count(o.log, "item/started") == 1
		}},
		"a hook that only watches": {watching, false, func(o otherOutcome) bool {
			return o.status == "completed" && o.original && o.warnings == 0 && !strings.Contains(o.log, `"hook/preToolUse"`) && !strings.Contains(o.log, "item/started")
		}},
		"as a handler": {handler, false, func(o otherOutcome) bool {
			return !o.outside && !strings.Contains(o.model, "hooks.json") && strings.Contains(o.model, "Read-only file system")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			argv := proxyArgv
			if test.alone {
				argv = []string{codexPath, "app-server"}
			}
			if got := test.hook.run(t, argv...); got.original && name != "a hook that only watches" || !test.passed(got) {
				t.Errorf("%+v", got)
			}
		})
	}
}
