package userrules

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"codex-bridge.example/bridge/rules"
)

// Set has the rules of some files. It must not be changed.
type Set struct {
	Rules []Rule
	// Err is set if a file can't be read; then its rules are unknown.
	Err error
}

// Outcome is what the rules do with a line.
type Outcome int

// Outcomes.
const (
	Stays  Outcome = iota // in the sandbox: no rule allows it outside
	Leaves                // the sandbox by a rule, unless Wrap is used
	Unsure                // it may leave the sandbox, even with Wrap
)

// Verdict is an outcome and its reason, which is "" for Stays.
type Verdict struct {
	Outcome Outcome
	Reason  string
}

// Judge returns what the rules do with a line for a shell.
//
// Only lines in the grammar of package rules are certainly read by Codex in the same way. If any
// rule is Allow, another line is treated as leaving: Codex takes form feeds and continued lines for
// blanks, and bash does not (measured).
func (s *Set) Judge(line string) Verdict {
	if s.Err != nil {
		return Verdict{Unsure, s.Err.Error()}
	}
	commands, outside := rules.Commands(line), rules.Outside(line)
	if isPatch(line) {
		outside = ""
	}
	out := s.findAllowing(commands)
	if lets := s.Allowing(); outside != "" && len(lets) > 0 {
		out = &lets[0]
	}
	if r := s.AllowingShell(); r != nil && (out != nil || !plainLine().MatchString(line)) {
		return Verdict{Unsure, r.String() + " lets a shell out of the sandbox, and with it whatever it runs"}
	}
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Decision == Allow && r.isForShellLine(line) {
			return leaves(r)
		}
	}
	switch {
	case out == nil:
		return Verdict{}
	case outside == "" && s.hasRestriction(commands, (*Rule).matches): // Codex asks about it, or refuses it
		return Verdict{}
	case !strings.ContainsAny(line, expansionChars) && s.hasRestriction(commands, (*Rule).mayMatch):
		return Verdict{Unsure, reasonFor(out) + ", but another rule may ask about it, which is unknown; quote its words with '…'"}
	}
	if strings.HasSuffix(strings.TrimRight(line, " \t\r\n"), `\`) {
		return Verdict{Unsure, reasonFor(out) + ", and the line ends in a backslash"}
	}
	return leaves(out)
}

// patchLine matches a patch as models write it for a shell.
var patchLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:cd [A-Za-z0-9_./-]+ && )?apply_patch <<'([A-Z_]+)'\n([^\x00-\x08\x0b-\x1f]*\n)([A-Z_]+)\n*$`)
})

// isPatch reports whether a line is a patch, which Codex applies itself unless the line has braces
// (measured). No line in it may look like its end.
func isPatch(line string) bool {
	m := patchLine().FindStringSubmatch(line)
	if m == nil || m[1] != m[3] {
		return false
	}
	for text := range strings.Lines(m[2]) {
		if strings.HasPrefix(strings.TrimSpace(text), m[1]) {
			return false
		}
	}
	return true
}

// leaves returns Leaves. On Windows it returns Unsure, since PowerShell takes braces for text.
func leaves(by *Rule) Verdict {
	if runtime.GOOS == "windows" {
		return Verdict{Unsure, reasonFor(by)}
	}
	return Verdict{Leaves, reasonFor(by)}
}

func reasonFor(r *Rule) string { return r.String() + " allows it outside the sandbox, or may" }

// expansionChars do not occur in a plain line, except within quotes (measured). So no rule matches a
// command that expands something.
const expansionChars = "$`<>(){}*?["

// plainLine matches lines that Codex certainly takes for one command and its words. It does not
// match redirections.
var plainLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./ -]*$`) })

// findAllowing returns a rule that may allow all commands outside, or nil.
func (s *Set) findAllowing(commands []rules.Command) (by *Rule) {
	for _, c := range commands {
		found := s.find(c, Allow, (*Rule).mayMatch)
		if found == nil {
			return nil
		}
		if by == nil {
			by = found
		}
	}
	return by
}

// hasRestriction reports whether a rule that asks or forbids applies to one of the commands.
func (s *Set) hasRestriction(commands []rules.Command, applies func(*Rule, rules.Command) bool) bool {
	for _, c := range commands {
		if s.find(c, Prompt, applies) != nil || s.find(c, Forbidden, applies) != nil {
			return true
		}
	}
	return false
}

func (s *Set) find(c rules.Command, decision string, applies func(*Rule, rules.Command) bool) *Rule {
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Decision == decision && applies(r, c) {
			return r
		}
	}
	return nil
}

// Allowing returns the rules with the decision Allow.
func (s *Set) Allowing() (all []Rule) {
	for _, r := range s.Rules {
		if r.Decision == Allow {
			all = append(all, r)
		}
	}
	return all
}

// AllowingShell returns a rule that allows a shell, with any line, or nil.
func (s *Set) AllowingShell() *Rule {
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Decision == Allow && r.isForAnyShell() {
			return r
		}
	}
	return nil
}

// Wrap returns a line with the same effect that no rule for its commands matches: Codex does not
// take a line with braces for plain (measured).
func Wrap(line string) string { return fmt.Sprintf("{ %s\n}", line) }
