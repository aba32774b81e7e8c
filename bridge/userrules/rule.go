package userrules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"codex-bridge.example/bridge/rules"
)

// Decisions of a rule.
const (
	Allow     = "allow"
	Prompt    = "prompt"
	Forbidden = "forbidden"
)

// Rule is a prefix_rule. It matches a command whose first words are each among the alternatives.
type Rule struct {
	Pattern  [][]string
	Decision string
	AnyCase  bool // words match in any case; never of a rule with the decision Allow
	File     string
	Line     int // 0: unknown
}

func (r *Rule) String() string {
	words := make([]string, len(r.Pattern))
	for i, alternatives := range r.Pattern {
		words[i] = strings.Join(alternatives, "|")
	}
	at := r.File
	if r.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, r.Line)
	}
	return fmt.Sprintf("the rule for %q at %s", strings.Join(words, " "), at)
}

// Digest identifies the rule by its pattern and decision, and not by its place.
func (r *Rule) Digest() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %t", r.Decision, r.Pattern, r.AnyCase))
	return hex.EncodeToString(sum[:])
}

// mayMatch reports whether the rule may match a command.
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
		case !r.mayBe(alternatives, c.Words[i].Text) && (i > 0 || !r.mayBe(alternatives, path.Base(c.Words[i].Text))):
			return false
		}
	}
	return true
}

// mayBe reports whether a word may be one of the alternatives.
func (r *Rule) mayBe(alternatives []string, word string) bool {
	if !r.AnyCase {
		return slices.Contains(alternatives, word)
	}
	return slices.ContainsFunc(alternatives, func(one string) bool {
		return strings.EqualFold(one, word) || !isASCII(one) || !isASCII(word) // Codex takes ß for ss
	})
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > '~' })
}

// shells are programs that Codex may run a line with.
var shells = []string{"bash", "zsh", "sh", "dash", "ash", "ksh", "fish", "pwsh", "powershell", "cmd"}

func isShell(program string) bool {
	name := strings.ToLower(path.Base(strings.ReplaceAll(program, `\`, "/")))
	return slices.Contains(shells, strings.TrimSuffix(name, ".exe"))
}

// LineOf returns the line of a command that Codex asks about: it runs lines with a shell and a flag.
func LineOf(argv []string) string {
	if len(argv) == 3 && isShell(argv[0]) {
		return argv[2]
	}
	return strings.Join(argv, " ")
}

// isForAnyShell reports whether the rule matches [SHELL, FLAG, LINE] with any line.
func (r *Rule) isForAnyShell() bool {
	return len(r.Pattern) <= 2 && slices.ContainsFunc(r.Pattern[0], isShell)
}

// isForShellLine reports whether the rule matches [SHELL, FLAG, line] for this line.
func (r *Rule) isForShellLine(line string) bool {
	return len(r.Pattern) == 3 && slices.ContainsFunc(r.Pattern[0], isShell) && r.mayBe(r.Pattern[2], line)
}
