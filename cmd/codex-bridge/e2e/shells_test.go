//go:build linux

package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/cmd/internal/editor"
)

// shellRules allow and deny by rule, in threads that ask about all other commands.
const shellRules = `
[policy]
mode = "enforce"
approval = ["untrusted", "on-request"]
sandbox = "workspace-write"
[[policy.rule]]
command = "{git,time,coproc,history,compgen,bash,echo,true,cat,tail,printf} **"
decision = "allow"
[[policy.rule]]
command = "./scripts/*.sh **"
decision = "allow"
`

const denyTouch = `
[[policy.rule]]
command = "touch **"
decision = "deny"
reason = "Nothing is touched here."
`

// decliningEditor declines every question and records it.
type decliningEditor struct {
	*conversation
	answer func(editor.Message) any // nil: decline
	asked  []editor.Message
}

func (w *world) newDecliningEditor(argv ...string) *decliningEditor {
	w.t.Helper()
	r := w.newUninitializedDecliningEditor(argv...)
	r.initialize(nil)
	return r
}

// newUninitializedDecliningEditor is newDecliningEditor before initialize.
func (w *world) newUninitializedDecliningEditor(argv ...string) *decliningEditor {
	w.t.Helper()
	r := &decliningEditor{}
	r.conversation = &conversation{world: w, ctx: deadline(w.t), Editor: w.start(argv, editor.Options{
		Answer: func(_ context.Context, m editor.Message) (any, *editor.Error) {
			r.asked = append(r.asked, m)
			if r.answer != nil {
				return r.answer(m), nil
			}
			return decision("decline"), nil
		},
	})}
	return r
}

// runLine makes the model run a command line with more arguments of the call. It returns the
// reasons of the questions.
func (r *decliningEditor) runLine(thread, line string, more map[string]any) (reasons []string) {
	r.t.Helper()
	arguments := map[string]any{"cmd": line}
	for name, v := range more {
		arguments[name] = v
	}
	raw, err := json.Marshal(arguments)
	if err != nil {
		r.t.Fatal(err)
	}
	r.asked = nil
	turn, mark := r.startTurn(thread, "CALL: exec_command "+string(raw))
	r.waitTurn(thread, turn, mark)
	for _, m := range r.asked {
		reasons = append(reasons, m.Param("reason"))
	}
	return reasons
}

// shellAttack is a line that one parser takes for a harmless one.
type shellAttack struct {
	line string // $OUT is a file
	more map[string]any
}

// shellAttacks all touch $OUT, or a file in the workspace, in the shell that runs them.
var shellAttacks = map[string]shellAttack{
	"descriptor":        {line: "<&-touch $OUT"},
	"descriptor, bash":  {line: "<&-bash touched"},
	"time":              {line: "time -- touch $OUT"},
	"coproc":            {line: "coproc touch $OUT | cat"},
	"history":           {line: "history -s touch $OUT; fc -s"},
	"compgen":           {line: "compgen -C 'touch $OUT'"},
	"compgen, words":    {line: "compgen -W '$(touch $OUT)'"},
	"subscript":         {line: "[[ -v 'a[$(touch $OUT)]' ]]"},
	"hash":              {line: "hash -p /usr/bin/touch git; git $OUT"},
	"function":          {line: "env 'BASH_FUNC_git%%=() { touch $OUT; }' bash -c git"},
	"sh, quotes":        {line: `git status $'\'; touch $OUT #'`, more: map[string]any{"shell": "sh"}},
	"sh, &>":            {line: "echo a &>/dev/null touch $OUT; sleep 1", more: map[string]any{"shell": "sh"}},
	"zsh, qualifier":    {line: "echo /etc/host*(e:'touch $OUT':)", more: map[string]any{"shell": "zsh"}},
	"zsh, number":       {line: "printf %d 'path[$(touch $OUT)]'", more: map[string]any{"shell": "zsh"}},
	"sh, here-document": {line: "cat <<$'E'\nE\ntouch $OUT\n$E", more: map[string]any{"shell": "bash"}},
	"quoted let":        {line: "'let' 'a[$(touch $OUT)]=1'"},
	"builtin let":       {line: `builtin \let 'a[$(touch $OUT)]=1'`},
	"translated let":    {line: `$"let" 'a[$(touch $OUT)]=1'`},
	"unknown eval":      {line: `x=eval; $x 'tou\ch $OUT'`},
	"split":             {line: "echo | split --filter='touch $OUT'"},
	"zsh, =":            {line: "env =touch $OUT", more: map[string]any{"shell": "zsh"}},
	"zsh, braces":       {line: "{touch $OUT}", more: map[string]any{"shell": "zsh"}},
	"zsh, print -P":     {line: "setopt promptsubst; print -P '$(touch $OUT)'", more: map[string]any{"shell": "zsh"}},
	"workdir":           {line: "./scripts/a.sh $OUT", more: map[string]any{"workdir": "vendor/evil"}},
	"cd":                {line: "cd vendor/evil && ./scripts/a.sh $OUT"},
}

// shellWorld has the files for the attacks.
func shellWorld(t *testing.T, config string) *world {
	t.Helper()
	w := newWorld(t, options{config: config, mute: "there are many turns"})
	for name, text := range map[string]string{
		"workspace/touched":                  "touch " + filepath.Join(w.workspace, "out") + "\n",
		"workspace/vendor/evil/scripts/a.sh": "#!/bin/sh\ntouch \"$1\"\n",
		"workspace/scripts/a.sh":             "#!/bin/sh\n",
	} {
		if err := os.Chmod(w.write(name, text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (a shellAttack) of(w *world) string {
	return strings.ReplaceAll(a.line, "$OUT", filepath.Join(w.workspace, "out"))
}

// attackWorked reports whether an attack worked, and removes its file.
func (w *world) attackWorked() bool {
	return os.Remove(filepath.Join(w.workspace, "out")) == nil
}

// Without the bridge the attacks work.
func TestShellAttacksControl(t *testing.T) {
	t.Parallel()
	w := shellWorld(t, "")
	r := w.newDecliningEditor(codexPath, "app-server")
	thread := r.thread(map[string]any{"approvalPolicy": "never", "sandbox": "workspace-write"})
	for name, a := range shellAttacks {
		if r.runLine(thread, a.of(w), a.more); !w.attackWorked() {
			t.Errorf("%s: no effect; the model got %q", name, w.lastToolOutput())
		}
	}
	r.closeAndWait()
}

// No allow rule accepts a line that shells read in different ways, or a program of another folder:
// the bridge asks the user and names the shell.
func TestShellAttacksAreNotAllowed(t *testing.T) {
	t.Parallel()
	w := shellWorld(t, shellRules)
	r := w.newDecliningEditor(proxyArgv...)
	thread, asks := "", 0
	for name, a := range shellAttacks {
		if asks++; asks%10 == 1 { // the limit is 12 questions per minute and thread
			thread = r.thread(asksAll)
		}
		shell := "bash"
		if s, ok := a.more["shell"].(string); ok {
			shell = s
		}
		asked := r.runLine(thread, a.of(w), a.more)
		if len(asked) != 1 || !strings.Contains(asked[0], "shell: "+shell) {
			t.Errorf("%s: %d questions: %q", name, len(asked), asked)
		}
		if w.attackWorked() {
			t.Errorf("%s: the command ran", name)
		}
	}
	for line, more := range map[string]map[string]any{ // these are allowed
		"git --version 2>&1 | tail -5":                       nil,
		"true && echo 'a $b `c`' > /dev/null; git --version": {"shell": "zsh", "login": false},
		"./scripts/a.sh x":                                   nil,
		"true":                                               {"workdir": "vendor/evil", "shell": "sh"},
	} {
		if asked := r.runLine(thread, line, more); len(asked) != 0 || !strings.Contains(w.lastToolOutput(), "exited with code 0") {
			t.Errorf("%s: questions %q, the model got %q", line, asked, w.lastToolOutput())
		}
	}
	r.closeAndWait()
}

// A deny rule counts for all lines that could match it, in the shell that reads them.
func TestShellAttacksAreDenied(t *testing.T) {
	t.Parallel()
	w := shellWorld(t, shellRules+denyTouch)
	r := w.newDecliningEditor(proxyArgv...)
	thread := r.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	for name, a := range shellAttacks {
		if name == "workdir" || name == "cd" || name == "descriptor, bash" {
			continue // scripts are not parsed; the last line is tested below
		}
		asked := r.runLine(thread, a.of(w), a.more)
		if len(asked) != 0 || w.attackWorked() || !strings.Contains(w.lastToolOutput(), "Nothing is touched here") {
			t.Errorf("%s: %d questions; the model got %q", name, len(asked), w.lastToolOutput())
		}
	}
	r.closeAndWait()
}

// A lasting yes for one shell does not count for another one, or in another folder.
func TestGrantsAreOfOneShell(t *testing.T) {
	t.Parallel()
	w := shellWorld(t, shellRules+"[approvals]\nremember = \"always\"\n")
	r := w.newDecliningEditor(proxyArgv...)
	r.answer = longestYes
	thread := r.thread(asksAll)
	line := `echo $'\'; touch out #'` // a word for bash, a command for sh
	for _, test := range []struct {
		more  map[string]any
		asked int
	}{
		{nil, 1}, {nil, 0},
		{map[string]any{"shell": "bash"}, 0}, // the granted one
		{map[string]any{"login": false}, 1},
		{map[string]any{"shell": "zsh"}, 1}, {map[string]any{"shell": "zsh"}, 0},
		{map[string]any{"workdir": "scripts"}, 1},
	} {
		if asked := r.runLine(thread, line, test.more); len(asked) != test.asked {
			t.Errorf("%v: questions %q", test.more, asked)
		}
	}
	if w.attackWorked() {
		t.Error("bash or zsh parsed it like sh")
	}
	r.answer = nil
	if asked := r.runLine(thread, line, map[string]any{"shell": "sh"}); len(asked) != 1 || w.attackWorked() {
		t.Errorf("questions for sh: %q", asked)
	}
	// Control: that shell runs it.
	r.answer = func(m editor.Message) any { return decision("accept") }
	if r.runLine(thread, line, map[string]any{"shell": "sh"}); !w.attackWorked() {
		t.Errorf("sh does not run it; the model got %q", w.lastToolOutput())
	}
	// Approvals for an unknown shell are not remembered.
	for range 2 {
		if asked := r.runLine(thread, "true", map[string]any{"shell": "fish"}); len(asked) != 1 || !strings.Contains(asked[0], "shell: unknown") {
			t.Errorf("questions for an unknown shell: %q", asked)
		}
	}
	r.closeAndWait()
}

// Codex parses the words of a line in the grammar like package rules: with Codex alone, a user's
// rule for exactly these words lets each command out of the sandbox. (It does not match one with a
// redirection, or without a quoted first word.)
func TestCodexReadsTheGrammar(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	tool := w.write("tool", "#!/bin/sh\ntouch \""+w.root+"/out$1\"\n")
	if err := os.Chmod(tool, 0o755); err != nil {
		t.Fatal(err)
	}
	lines := []string{
		`$T 1 plain ./... --flag=value a=b a:b HEAD@ %1 +x a,b - -- //`,
		`$T 2 'a "b" $c ` + "`d`" + ` \ {e,f} * ? [g] ~ # ! & ; | < >'`,
		`$T 3 "a 'b' {e,f} * ? [g] ~ # ! & ; | < > ( )"`,
		`$T 4 a"b c"d'e f'g --x='y z' --x="y z" 'a'"b"`,
		`$T 5 '' "" a''b`,
		"  $T 6  a   b  ;\n\n $T 7 c &&\n$T 8 | $T 9;",
		"$T a if && $T b then || $T c do\n",
	}
	var text strings.Builder
	var names []string
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, "$T", tool)
		if why := rules.Outside(lines[i]); why != "" {
			t.Fatalf("%s: %s", lines[i], why)
		}
		for _, c := range rules.Commands(lines[i]) {
			var words []string
			for _, word := range c.Words {
				words = append(words, word.Text)
			}
			names = append(names, words[1])
			text.WriteString("prefix_rule(pattern=" + marshal(t, words) + ")\n")
		}
	}
	w.write("home/rules/own.rules", text.String())
	r := w.newDecliningEditor(codexPath, "app-server")
	thread := r.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"})
	for _, line := range lines {
		r.runLine(thread, line, nil)
	}
	r.closeAndWait()
	for _, name := range names {
		if name != "c" && !w.hasFile("out"+name) { // after ||
			t.Errorf("the command %s of the lines did not leave the sandbox", name)
		}
	}
}

// Codex ignores unknown arguments, and prefix_rule without an escalation. The bridge asks about
// such a call as about others.
func TestArgumentsDoNotSkipTheQuestion(t *testing.T) {
	t.Parallel()
	config := strings.Replace(shellRules, "[[policy.rule]]", "escalation = \"ask\"\n[[policy.rule]]\ncommand = \"mkdir **\"\ndecision = \"ask\"\n[[policy.rule]]", 1)
	w := shellWorld(t, config)
	r := w.newDecliningEditor(proxyArgv...)
	for line, params := range map[string]map[string]any{
		"touch $OUT": asksAll, "mkdir x; touch $OUT": {"approvalPolicy": "on-request", "sandbox": "workspace-write"},
	} {
		thread := r.thread(params)
		for name, v := range map[string]any{"prefix_rule": []string{"touch"}, "environment_id": "local", "foo": 1} {
			if asked := r.runLine(thread, shellAttack{line: line}.of(w), map[string]any{name: v}); len(asked) != 1 || w.attackWorked() {
				t.Errorf("%s with %s: questions %q; the model got %q", line, name, asked, w.lastToolOutput())
			}
		}
	}
	r.closeAndWait()
}
