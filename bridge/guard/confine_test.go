package guard

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/setting"
)

// fullDisk is a decision log that can't be written.
type fullDisk struct{}

func (fullDisk) Append(context.Context, decision.Record) error { return errors.New("disk full") }

// A command that the user's own rules would let leave the sandbox gets an input with which it
// stays. It must not run if that is not possible, or can't be logged.
func TestConfine(t *testing.T) {
	const allow = "prefix_rule(pattern=[\"make\"], decision=\"allow\")\n"
	const kept = `{"command":"{ make\n}"}`
	for name, test := range map[string]struct {
		command string
		rules   string // of the user
		project string // rules of the thread's project
		mode    config.Mode
		thread  *policy.Thread
		failing bool // the log can't be written
		input   string
		refusal string
	}{
		"let out":                       {command: "make", rules: allow, input: kept},
		"not let out":                   {command: "ls", rules: allow},
		"audit":                         {command: "make", rules: allow, mode: config.Audit},
		"off":                           {command: "make", rules: allow, mode: config.Off},
		"not logged":                    {command: "make", rules: allow, failing: true, refusal: "decision log"},
		"rules that can't be read":      {command: "make", rules: "prefix_rule(", refusal: "may leave the sandbox"},
		"the same, and not logged":      {command: "make", rules: "prefix_rule(", failing: true, refusal: "may leave the sandbox"},
		"project":                       {command: "make", project: allow, thread: &policy.Thread{ID: "t", Projects: []string{"$"}}, input: kept},
		"folder of a project":           {command: "make", project: allow, thread: &policy.Thread{ID: "t", Projects: []string{"$/folder"}}, input: kept},
		"project that is not trusted":   {command: "make", project: allow, thread: &policy.Thread{ID: "t"}},
		"project that can't be read":    {command: "make", project: "prefix_rule(", thread: &policy.Thread{ID: "t", Projects: []string{"$"}}, refusal: "may leave the sandbox"},
		"project that forbids":          {command: "make", rules: allow, project: "prefix_rule(pattern=[\"make\"], decision=\"forbidden\")\n", thread: &policy.Thread{ID: "t", Projects: []string{"$"}}, refusal: "forbids it"},
		"thread that is not verified":   {command: "ls", refusal: "its settings are not verified"},
		"thread without a sandbox":      {command: "make", rules: allow, thread: &policy.Thread{ID: "t", Sandbox: "danger-full-access"}},
		"rules and project, unreadable": {command: "make", rules: "prefix_rule(", project: allow, thread: &policy.Thread{ID: "t", Projects: []string{"$"}}, refusal: "may leave the sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgentWorld(t, func(p *config.Policy) {
				if test.mode != "" {
					p.Mode = test.mode
				}
			})
			if test.rules != "" {
				w.write("home/rules/own.rules", test.rules)
			}
			if test.project != "" {
				w.write("project/.codex/rules/own.rules", test.project)
			}
			if test.thread == nil {
				test.thread = &policy.Thread{ID: "t"}
			}
			if name != "thread that is not verified" {
				w.g.threads.setVerified(map[string]*thread{"t": {Thread: *test.thread}})
				for _, project := range test.thread.Projects {
					w.g.threads.projects = []string{strings.ReplaceAll(project, "$", filepath.Join(w.root, "project"))}
				}
			}
			if test.failing {
				w.g.recorder = fullDisk{}
			}
			applied := 0
			w.g.OnApplied(func(Applied) { applied++ })
			use := toolcall.Call{Name: "Bash", Input: value(t, `{"command":"`+test.command+`"}`)}
			input, refusal := w.g.Confine(t.Context(), "t", "", use, []byte(`{}`))
			if string(input) != test.input || (refusal == "") != (test.refusal == "") || !strings.Contains(refusal, test.refusal) {
				t.Errorf("input %s, refusal %q", input, refusal)
			}
			if changed := input != nil || refusal != ""; changed != (applied == 1) || applied > 1 {
				t.Errorf("%d changes are announced", applied)
			}
		})
	}
}

// The bridge asks about a command that it keeps in the sandbox if a rule for Codex asks about it, whether the
// rule is of the user, of a project, or of the machine's requirements. It denies what such a rule forbids.
func TestToolAsksByCodexRules(t *testing.T) {
	const allow = "prefix_rule(pattern=[\"make\"], decision=\"allow\")\n"
	rule := func(decision string) string {
		return "prefix_rule(pattern=[\"make\", \"install\"], decision=\"" + decision + "\")\n"
	}
	for name, test := range map[string]struct {
		user, project, machine string // decisions of the rule for make install
		approval               string
		rule                   string // of the policy, for make install
		asks                   bool
		refusal                string
	}{
		"the user":             {user: "prompt", asks: true},
		"a rule asks":          {user: "prompt", rule: "ask", asks: true},
		"a project":            {project: "prompt", asks: true},
		"the machine":          {machine: "prompt", asks: true},
		"a project, unasked":   {project: "prompt", approval: `"never"`, refusal: "asks about it, and this thread has no question"},
		"the machine forbids":  {machine: "forbidden", refusal: "forbids it"},
		"the strictest counts": {user: "prompt", project: "forbidden", refusal: "forbids it"},
		"no rule":              {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgentWorld(t, func(p *config.Policy) {
				if test.rule != "" {
					p.Rules = []config.Rule{{Tool: "shell", Command: "make install", Decision: test.rule, Reason: "this asks about it"}}
				}
			})
			text := allow
			if test.user != "" {
				text += rule(test.user)
			}
			w.write("home/rules/own.rules", text)
			if test.project != "" {
				w.write("project/.codex/rules/own.rules", rule(test.project))
			}
			if test.machine != "" {
				w.g.requirements.rules = []setting.PrefixRule{{Pattern: [][]string{{"make"}, {"install"}}, Forbidden: test.machine == "forbidden"}}
			}
			if test.approval == "" {
				test.approval = `"on-request"`
			}
			w.g.threads.setVerified(map[string]*thread{"t": {Thread: policy.Thread{ID: "t", Sandbox: "read-only", Approval: []byte(test.approval)}}})
			w.g.threads.projects = []string{filepath.Join(w.root, "project")}
			use := toolcall.Call{ID: "c", Name: "Bash", Input: value(t, `{"command":"make install"}`)}
			r := w.g.Tool(t.Context(), "t", "", use, []byte(`{}`))
			_, refusal := w.g.Confine(t.Context(), "t", "", use, []byte(`{}`))
			if refusal = r.Refusal + refusal; r.Ask != test.asks || (refusal == "") != (test.refusal == "") || !strings.Contains(refusal, test.refusal) {
				t.Errorf("%+v, refusal %q", r, refusal)
			}
			if test.asks && (!strings.Contains(r.Why, "asks about it") || len(r.AnswerTerms.AskedBy) < 1 || test.rule == "" && !strings.Contains(r.Facts, "rules for Codex")) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// The rules for a question that requirements demand in any case match every form of the words.
func TestPromptRulesInAnyCase(t *testing.T) {
	all := promptRules(setting.PrefixRule{Pattern: [][]string{{"git"}, {"straße", "pu-2"}}, AnyCase: true}, "requirements.toml")
	matches := func(command string) bool {
		return slices.ContainsFunc(all, func(r config.Rule) bool {
			globs, words := strings.Fields(r.Command), strings.Fields(command)
			for i, word := range words {
				if ok, err := doublestar.Match(globs[i], word); err != nil || !ok {
					return false
				}
			}
			return globs[len(words)] == "**"
		})
	}
	for command, want := range map[string]bool{
		"git straße": true, "GIT PU-2": true, "giT pu-2": true, "git STRASSE": true, "git stra": false, "g\u0131t pu-2": true, "go pu-2": false, "git pull": false, "./git pu-2": false,
	} {
		if matches(command) != want {
			t.Errorf("%s: matches %t", command, !want)
		}
	}
	for _, r := range promptRules(setting.PrefixRule{Pattern: [][]string{{"git"}}}, "requirements.toml") {
		if r.Command != "git **" {
			t.Errorf("%q", r.Command)
		}
	}
}

// A pattern with many words has no more rules than the bound, whatever the case of its words. They match any word in
// place of those that are too many.
func TestPromptRulesAreBounded(t *testing.T) {
	many := make([]string, maxAlternatives)
	for i := range many {
		many[i] = fmt.Sprintf("w%d", i)
	}
	for name, pattern := range map[string][][]string{
		"many words": {{"git"}, many}, "long": {{"a"}, {"b"}, {"c"}, {"d"}, {"e"}, {"f"}, {"g"}, {"h"}, {"i"}, {"j"}, {"k"}},
		"no plain words": {{"$a"}, {"$b"}, {"$c"}, {"$d"}, {"$e"}, {"$f"}, {"$g"}, {"$h"}, {"$i"}, {"$j"}},
	} {
		all := promptRules(setting.PrefixRule{Pattern: pattern, AnyCase: true}, "requirements.toml")
		if len(all) > maxAlternatives {
			t.Errorf("%s: %d rules", name, len(all))
		}
		if last := strings.Fields(all[0].Command); len(last) != len(pattern)+1 || last[len(pattern)-1] != "*" {
			t.Errorf("%s: %q", name, all[0].Command)
		}
	}
}
