package replay

import (
	"slices"
	"strings"
	"unicode/utf8"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
)

// StartFacts are the facts of a program that starts. The names are those of rules.Program.
type StartFacts struct {
	Path     string   `json:"path"`
	Resolved string   `json:"resolved,omitempty"`
	Args     []string `json:"args"`
	Dir      string   `json:"dir,omitempty"`
}

// ProgramFacts returns the facts of a decision of DecideProgram with the same arguments, about a call with an id.
func ProgramFacts(p *policy.Policy, id string, programs []rules.Program, unreadable string, st policy.State) Facts {
	f := Facts{ID: id, Unreadable: unreadable, Folders: st.PathFolders}
	if len(st.Accepted) > 0 {
		return Facts{ID: id, Unknown: "it depends on what a person has accepted of its line"}
	}
	follows := false
	programs = slices.Clone(programs)
	for i, prog := range programs {
		for _, text := range slices.Concat(prog.Args, []string{prog.Path, prog.Resolved, prog.Dir}) {
			if !utf8.ValidString(text) {
				return Facts{ID: id, Unknown: "its words are no text"}
			}
		}
		f.Starts = append(f.Starts, StartFacts{prog.Path, prog.Resolved, prog.Args, prog.Dir})
		programs[i].Follow = func(path string) (string, error) {
			follows = true
			if prog.Follow == nil {
				return st.Follow(path)
			}
			return prog.Follow(path)
		}
	}
	st.Paths = &PathLog{Paths: st.Paths}
	if toolcall.DecideProgram(p, programs, unreadable, st); follows {
		return Facts{ID: id, Unknown: "it loads another program, whose file is not recorded"}
	}
	return factsOf(p, f, st)
}

// startedPrograms returns the programs of the facts.
func (f *Facts) startedPrograms() []rules.Program {
	all := make([]rules.Program, len(f.Starts))
	for i, one := range f.Starts {
		all[i] = rules.Program{Path: one.Path, Resolved: one.Resolved, Args: one.Args, Dir: one.Dir}
	}
	return all
}

// startSummary returns the program that starts as a person reads it; "" if there is none.
func (f *Facts) startSummary() string {
	if len(f.Starts) == 0 {
		return ""
	}
	words := []string{display.ShellWord(f.Starts[0].Path)}
	for _, word := range f.Starts[0].Args[min(1, len(f.Starts[0].Args)):] {
		words = append(words, display.ShellWord(word))
	}
	return strings.Join(words, " ")
}

// recomputeProgram returns the effect on the start of a program. A policy for which Codex starts without supervision
// decides about none.
func recomputeProgram(p *policy.Policy, r *Case) Recomputed {
	if !p.SupervisesPrograms() {
		const key = "policy.exec_rules"
		return Recomputed{Rule: key, Origin: p.OriginOrDefault(key), Reason: "rules do not decide where programs start"}
	}
	d := toolcall.DecideProgram(p, r.programs, r.unreadable, r.state)
	out := effectOf(d, Allows)
	switch {
	case out.Effect == Denies:
	case len(d.Approvers) > 0:
		out.needApprovers(rules.Match{Approvers: d.Approvers, Rule: d.ApproversRule, Decision: rules.Ask})
	case d.Ask:
		out.Effect, out.Rule, out.Reason = Asks, policy.RuleRule, d.AskReason
	}
	return out
}
