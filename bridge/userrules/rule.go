package userrules

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"codex-bridge/bridge/rules"
)

// The decisions of a rule.
const (
	Allow     = "allow"
	Prompt    = "prompt"
	Forbidden = "forbidden"
)

// Rule is a prefix_rule: a command whose words begin with one of each alternatives.
type Rule struct {
	Pattern  [][]string
	Decision string
	File     string
	Line     int
}

func (r *Rule) String() string {
	words := make([]string, len(r.Pattern))
	for i, alternatives := range r.Pattern {
		words[i] = strings.Join(alternatives, "|")
	}
	return fmt.Sprintf("the rule for %q at %s:%d", strings.Join(words, " "), r.File, r.Line)
}

// may tells whether a command may have the rule's prefix.
func (r *Rule) mayMatch(c rules.Command) bool {
	if c.Opaque {
		return true
	}
	for i, alternatives := range r.Pattern {
		switch {
		case i == len(c.Words):
			return false
		case c.Words[i].Many:
			return true
		case !c.Words[i].Known:
		case !slices.Contains(alternatives, c.Words[i].Text) && (i > 0 || !slices.Contains(alternatives, path.Base(c.Words[i].Text))):
			return false
		}
	}
	return true
}

// has tells whether a command has it for sure, as it is written: by the path of a program
// rules for its name count only where there are none for the path.
func (r *Rule) matches(c rules.Command) bool {
	if c.Opaque || len(c.Words) < len(r.Pattern) {
		return false
	}
	for i, alternatives := range r.Pattern {
		if !c.Words[i].Known || !slices.Contains(alternatives, c.Words[i].Text) {
			return false
		}
	}
	return true
}

// shells are what may read a line that is not plain.
var shells = []string{"bash", "zsh", "sh", "dash", "ash", "ksh", "fish", "pwsh", "powershell", "cmd"}

func isShell(program string) bool {
	name := strings.ToLower(path.Base(strings.ReplaceAll(program, `\`, "/")))
	return slices.Contains(shells, strings.TrimSuffix(name, ".exe"))
}

// ofAnyShell tells whether the rule speaks of [SHELL, FLAG, LINE] with any line.
func (r *Rule) isForAnyShell() bool {
	return len(r.Pattern) <= 2 && slices.ContainsFunc(r.Pattern[0], isShell)
}

// ofShell tells whether it speaks of [SHELL, FLAG, line] with this line.
func (r *Rule) isForShellLine(line string) bool {
	return len(r.Pattern) == 3 && slices.ContainsFunc(r.Pattern[0], isShell) && slices.Contains(r.Pattern[2], line)
}
