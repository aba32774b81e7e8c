//go:build linux

package e2e_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/userrules"
	"codex-bridge.example/cmd/internal/scripted"
)

// userRule is a command with a user's own rules for Codex. $OUT is a file outside the sandbox.
type userRule struct {
	rules, command string
	project        bool   // the rules of a trusted project
	leaves         bool   // with Codex alone it runs outside the sandbox
	unsure         bool   // the bridge can't keep it inside
	told           string // part of what the model gets with the bridge
}

func allow(patterns ...string) (text string) {
	for _, p := range patterns {
		text += fmt.Sprintf("prefix_rule(pattern=%s, decision=\"allow\")\n", p)
	}
	return text
}

var userRules = map[string]userRule{
	"a word":                                 {rules: allow(`["touch"]`), command: "touch $OUT", leaves: true},
	"no decision":                            {rules: "prefix_rule(pattern=[\"touch\"])\n", command: "touch $OUT", leaves: true},
	"alternatives":                           {rules: allow(`[["rm", "touch"]]`), command: "touch $OUT", leaves: true},
	"computed":                               {rules: "def f(p):\n  prefix_rule(pattern=p)\nfor q in [\"rm\", \"touch\"]:\n  f([q])\n", command: "touch $OUT", leaves: true, unsure: true},
	"text that Codex measures in characters": {rules: "prefix_rule(pattern=[\"touch\" if len(\"é\") == 1 else \"x\"], decision=\"allow\")\n", command: "touch $OUT", leaves: true, unsure: true},
	"a path":                                 {rules: allow(`["touch"]`), command: "/usr/bin/touch $OUT", leaves: true},
	"a quoted argument":                      {rules: allow(`["touch"]`), command: `touch "$OUT"`, leaves: true},
	"all parts":                              {rules: allow(`["true"]`, `["touch"]`), command: "true && touch $OUT; true | true", leaves: true},
	"lines":                                  {rules: allow(`["true"]`, `["touch"]`), command: "true\ntouch $OUT", leaves: true},
	"a here-document":                        {rules: allow(`["sh"]`), command: "sh <<X\ntouch $OUT\nX", unsure: true},
	"the line":                               {rules: allow(`["/bin/bash", "-lc", "(touch $OUT)"]`), command: "(touch $OUT)", leaves: true},
	"the shell":                              {rules: allow(`["bash"]`), command: "(touch $OUT)", leaves: true, unsure: true},
	"the shell, in braces":                   {rules: allow(`["/bin/bash", "-lc"]`), command: "{ touch $OUT\n}", leaves: true, unsure: true},
	"a project":                              {rules: allow(`["touch"]`), command: "touch $OUT", project: true, leaves: true},
	"another word":                           {rules: allow(`["touch", "inside"]`), command: "touch $OUT"},
	"a part":                                 {rules: allow(`["touch"]`), command: "touch $OUT && pwd"},
	"asked":                                  {rules: allow(`["touch"]`) + "prefix_rule(pattern=[\"true\"], decision=\"prompt\")\n", command: "true && touch $OUT"},
	"forbidden":                              {rules: allow(`["touch"]`) + "prefix_rule(pattern=[\"true\"], decision=\"forbidden\")\n", command: "true && touch $OUT", told: "policy forbids commands"},
	"in braces":                              {rules: allow(`["touch"]`), command: "{ touch $OUT\n}"},
	"quoted":                                 {rules: allow(`["touch"]`), command: "'touch' $OUT"},
	"a redirection":                          {rules: allow(`["echo"]`), command: "echo a > $OUT"},
	// Codex takes these for blanks, and bash for parts of a word (measured): it runs tool.
	"form feeds":          {rules: allow(`["git", "status"]`), command: "git\fstatus\f/../tool", leaves: true},
	"a vertical tab":      {rules: allow(`["git", "status"]`), command: "git\vstatus\v/../tool", leaves: true},
	"a continued line":    {rules: allow(`["git"]`), command: "git\\\n/../tool", leaves: true},
	"after others":        {rules: allow(`["git"]`, `["true"]`), command: "true && git\\\n/../tool", leaves: true},
	"a comment, a prompt": {rules: allow(`["true"]`) + "prefix_rule(pattern=[\"touch\"], decision=\"prompt\")\n", command: "touch $OUT # a"},
}

// run makes the model run the command under on-request. It reports whether it ran outside the
// sandbox, and returns the output for the model.
func (u userRule) run(t *testing.T, bridgeConfig string, argv ...string) (outside bool, told string) {
	t.Helper()
	w := newWorld(t, options{config: bridgeConfig})
	out := filepath.Join(w.root, "out")
	file := "home/rules/own.rules" // Codex removes broad rules from default.rules at its start
	if rules := strings.ReplaceAll(u.rules, "$OUT", out); u.project {
		file = "workspace/.codex/rules/own.rules"
		w.trust(rules)
	} else {
		w.write(file, rules)
	}
	for _, folder := range []string{"git", "git\fstatus\f", "git\vstatus\v"} {
		w.write("workspace/"+folder+"/x", "")
	}
	if err := os.Chmod(w.write("workspace/tool", "#!/bin/sh\ntouch "+out+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	command := strings.ReplaceAll(u.command, "$OUT", out)
	w.model.Add(scripted.Step{When: "GO", Reply: scripted.Reply{scripted.Run(command)}})
	a := w.newAcceptingEditor(argv...)
	a.turn(a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}), "GO")
	told = w.lastToolOutput()
	a.closeAndWait()
	_, err := os.Stat(out)

	// The analysis never says that a command stays inside if Codex lets it out.
	set := new(userrules.Reader).Read(filepath.Dir(filepath.Join(w.root, file)))
	if v := set.Judge(command); u.leaves && v.Outcome == userrules.Stays || u.unsure != (v.Outcome == userrules.Unsure) {
		t.Errorf("analysis %+v (%v)", v, set.Err)
	}
	return err == nil, told
}

// A user's own rules let commands out of the sandbox under any policy of the thread: with the
// bridge they run inside, or not at all.
func TestUserRules(t *testing.T) {
	t.Parallel()
	for i, name := range slices.Sorted(maps.Keys(userRules)) {
		if !isSampled(5, i, 0) {
			continue
		}
		u := userRules[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside, told := u.run(t, `[policy]
mode = "enforce"
project_trust = "codex"
`, proxyArgv...)
			if outside {
				t.Error("the command ran outside the sandbox")
			}
			if denied := strings.Contains(told, "without a question"); denied != u.unsure || !strings.Contains(told, u.told) {
				t.Errorf("denied: %t; the model got %q", denied, told)
			}
		})
	}
}

// With Codex alone the commands behave as in the table.
func TestUserRulesControl(t *testing.T) {
	t.Parallel()
	for name, u := range userRules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if outside, told := u.run(t, "", codexPath, "app-server"); outside != u.leaves {
				t.Errorf("outside: %t; the model got %q", outside, told)
			}
		})
	}
}

// restriction is a rule for touch beside the user's own rule that allows it.
type restriction struct {
	file     string // below the world's folder
	decision string
	link     bool // the file is a link
	late     bool // the file is written after a thread was opened
	ignored  bool // Codex does not read the file
	allowed  bool // a rule of the policy allows the command
}

var restrictions = map[string]restriction{
	"a project forbids":    {file: "workspace/.codex/rules/b.rules", decision: "forbidden"},
	"a project asks":       {file: "workspace/.codex/rules/b.rules", decision: "prompt"},
	"a rule allows":        {file: "home/rules/b.rules", decision: "prompt", allowed: true},
	"the user forbids":     {file: "home/rules/b.rules", decision: "forbidden"},
	"the user asks":        {file: "home/rules/b.rules", decision: "prompt"},
	"the user forbids now": {file: "home/rules/b.rules", decision: "forbidden", late: true},
	"the user asks now":    {file: "home/rules/b.rules", decision: "prompt", late: true},
	"a link":               {file: "home/rules/b.rules", decision: "prompt", link: true, ignored: true},
	"capital letters":      {file: "home/rules/b.RULES", decision: "prompt", ignored: true},
	"no name":              {file: "home/rules/.rules", decision: "forbidden", ignored: true},
}

// run makes the model run touch in a new thread. It reports whether the command ran outside the sandbox, and
// returns the number of questions, and the output for the model.
func (r restriction) run(t *testing.T, bridgeConfig string, argv ...string) (outside bool, questions int, told string) {
	t.Helper()
	w := newWorld(t, options{config: bridgeConfig})
	w.trust("")
	w.write("home/rules/own.rules", allow(`["touch"]`))
	write := func() {
		text := fmt.Sprintf("prefix_rule(pattern=[\"touch\"], decision=%q)\n", r.decision)
		if !r.link {
			w.write(r.file, text)
		} else if err := os.Symlink(w.write("elsewhere", text), filepath.Join(w.root, r.file)); err != nil {
			t.Fatal(err)
		}
	}
	if !r.late {
		write()
	}
	a := w.newAcceptingEditor(argv...)
	settings := map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}
	if r.late {
		a.turn(a.thread(settings), "RUN: pwd")
		write()
	}
	questions = len(a.turn(a.thread(settings), "RUN: touch "+filepath.Join(w.root, "out")))
	told = w.lastToolOutput()
	a.closeAndWait()
	return w.hasFile("out"), questions, told
}

// A rule for Codex that asks or forbids keeps its effect beside a rule that allows the command, and a file
// that Codex does not read lets no command leave the sandbox.
func TestCodexRulesKeepRestricting(t *testing.T) {
	t.Parallel()
	for i, name := range slices.Sorted(maps.Keys(restrictions)) {
		if !isSampled(2, i, 1) {
			continue
		}
		r := restrictions[name]
		config := "[policy]\nproject_trust = \"codex\"\n"
		if r.allowed {
			config += "[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"allow\"\n"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside, questions, told := r.run(t, config, proxyArgv...)
			forbids, asks := r.decision == "forbidden", r.decision == "prompt" && !r.allowed
			if outside || asks != (questions == 1) || forbids && !strings.Contains(told, filepath.Base(r.file)+":1 forbids it") {
				t.Errorf("outside: %t, %d questions; the model got %q", outside, questions, told)
			}
		})
	}
}

// With Codex alone each rule that it reads has its effect.
func TestCodexRulesKeepRestrictingControl(t *testing.T) {
	t.Parallel()
	for name, r := range restrictions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside, questions, told := r.run(t, "", codexPath, "app-server")
			if asks := r.decision == "prompt" && !r.ignored; asks != (questions == 1) || outside != r.ignored || !outside && !asks && !strings.Contains(told, "forbids commands") {
				t.Errorf("outside: %t, %d questions; the model got %q", outside, questions, told)
			}
		})
	}
}

// Codex reads a rules file as the bridge does, or the bridge does not read it.
func TestRulesFilesReadAsByCodex(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"names":         `prefix_rule(pattern=["é", ["a", 'b"',],], decision = "prompt", match=["é a"], not_match=[["ls"]], justification="c")` + "\n",
		"no names":      "# x\r\nprefix_rule([\"é\"], 'forbidden', [], [], \"c\")  # y\r\n",
		"escapes":       `prefix_rule(["\u00e9\\\"\'\n\r\t", "\u0001"], "prompt")` + "\n",
		"lines":         "prefix_rule(\n# a\n\n  pattern\n=[\n'é'\n]\n,\n)\n\n#",
		"others":        "host_executable(name=\"ls\", paths=[\"/bin/ls\"])\nnetwork_rule(\"a.example\", \"https\", \"allow\", \"b\")\nprefix_rule([\"é\"])",
		"newest":        "prefix_rule([\"é\"], canonical_matching=True)\n",
		"cut off":       "prefix_rule([\"é\"",
		"decisions":     "prefix_rule([\"é\"], \"Allow\")\n",
		"pattern":       "prefix_rule([\"é\", []])\n",
		"escape":        `prefix_rule(["é", "\0"])`, // at the end of a whole file
		"name":          "prefix_rule([\"é\"])\nprefix_rule",
		"cut character": "prefix_rule([\"é\"])\nprefix_rule([\"\xc3", "cut line end": "prefix_rule([\"é\"],\r", "cut name": "prefix_rule([\"é\"])\nprefix_ru",
		"cut escape": `prefix_rule(["é\x4`,
		"control":    "prefix_rule([\"é\" if len(\"é\") == 1 else \"x\"])\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "own.rules")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var reader userrules.Reader
			set := reader.Read(dir)
			command := []string{"é"}
			if set.Err == nil {
				command = nil
				for _, words := range set.Rules[0].Pattern {
					command = append(command, words[len(words)-1])
				}
			}
			out, err := exec.Command(codexPath, slices.Concat([]string{"execpolicy", "check", "--rules", file, "--"}, command)...).Output()
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			switch later := reader.Read(dir); {
			case set.Err == nil && !strings.Contains(string(out), `"decision":"`+set.Rules[0].Decision+`"}`):
				t.Errorf("the bridge reads %+v, Codex %s", set.Rules, out)
			case set.Err != nil && (err == nil) != (later.Err != nil):
				t.Errorf("Codex says %s, %v, the bridge first %v, later %v", out, err, set.Err, later.Err)
			}
		})
	}
}

// Codex still extracts a patch from a shell line.
func TestUserRulesLeavePatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\nsandbox = \"workspace-write\"\n"})
	w.write("home/rules/own.rules", allow(`["touch"]`))
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	w.model.Add(scripted.Step{When: "GO", Reply: scripted.Reply{scripted.Run("apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new\n+x\n*** End Patch\nEOF\n")}})
	a.turn(thread, "GO")
	a.closeAndWait()
	if !w.hasFile("workspace/new") {
		t.Errorf("the model got %q", w.lastToolOutput())
	}
}
