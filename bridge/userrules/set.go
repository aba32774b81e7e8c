package userrules

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
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
	Stays   Outcome = iota // in the sandbox, or Codex asks or refuses by itself: no rule allows it outside
	Leaves                 // the sandbox by a rule, unless Wrap is used
	Asks                   // as Leaves, and Codex may ask about it by a rule, unless Wrap is used
	Forbids                // as Leaves, and Codex may refuse it by a rule, unless Wrap is used
	Unsure                 // it may leave the sandbox, even with Wrap
)

// Verdict is an outcome and its reason, which is "" for Stays.
type Verdict struct {
	Outcome Outcome
	Reason  string
	// Restrictions are the rules by which Codex may ask or refuse under Asks and Forbids.
	Restrictions []*Rule
}

// Judge returns what the rules do with a line for a shell.
//
// Only lines in the grammar of package rules are certainly read by Codex in the same way. If any
// rule is Allow, another line is treated as leaving: Codex takes form feeds and continued lines for
// blanks, and bash does not (measured).
//
// A rule that asks or forbids never makes a line stay that a rule may let out: Codex may not have that
// rule, since it may not have read its file.
func (s *Set) Judge(line string) Verdict {
	if s.Err != nil {
		return Verdict{Outcome: Unsure, Reason: s.Err.Error()}
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
		return Verdict{Outcome: Unsure, Reason: r.String() + " lets a shell out of the sandbox, and with it whatever it runs"}
	}
	isShellLine := false
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Decision == Allow && r.isForShellLine(line) {
			out, isShellLine = r, true
		}
	}
	switch {
	case out == nil:
		return Verdict{}
	case !isShellLine && strings.HasSuffix(strings.TrimRight(line, " \t\r\n"), `\`):
		return Verdict{Outcome: Unsure, Reason: reasonFor(out) + ", and the line ends in a backslash"}
	}
	return s.withRestrictions(line, commands, leaves(out))
}

// withRestrictions adds to the verdict on a line the rules that Wrap would hide from Codex.
func (s *Set) withRestrictions(line string, commands []rules.Command, v Verdict) Verdict {
	found := s.restrictions(line, commands)
	if v.Outcome == Unsure || len(found) == 0 {
		return v
	}
	v.Outcome, v.Restrictions = Asks, found
	strictest, does := found[0], "asks about it"
	if i := slices.IndexFunc(found, func(r *Rule) bool { return r.Decision == Forbidden }); i >= 0 {
		v.Outcome, strictest, does = Forbids, found[i], "forbids it"
	}
	v.Reason = strictest.String() + " " + does
	if rules.Outside(line) != "" {
		v.Reason += ", or may: the line can be read in more than one way; write its words plainly, or quote them with '…'"
	}
	return v
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
		return Verdict{Outcome: Unsure, Reason: reasonFor(by)}
	}
	return Verdict{Outcome: Leaves, Reason: reasonFor(by)}
}

func reasonFor(r *Rule) string { return r.String() + " allows it outside the sandbox, or may" }

// plainLine matches lines that Codex certainly takes for one command and its words. It does not
// match redirections.
var plainLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./ -]*$`) })

// findAllowing returns a rule that may allow all commands outside, or nil.
func (s *Set) findAllowing(commands []rules.Command) (by *Rule) {
	for _, c := range commands {
		i := slices.IndexFunc(s.Rules, func(r Rule) bool { return r.Decision == Allow && r.mayMatch(c) })
		if i < 0 {
			return nil
		}
		if by == nil {
			by = &s.Rules[i]
		}
	}
	return by
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
// take a line with braces for plain, wherever they are (measured with 0.169 and 0.171).
//
// Braces around a line without a command are a syntax error, and an unfinished here-document would contain the end
// brace. Such a line comes after a group that does nothing. If another line is taken for such a one, the rules do
// not see its command either.
func Wrap(line string) string {
	if noCommand().MatchString(line) || hasOpenDocument(line) {
		return "{ :; }; " + line
	}
	return fmt.Sprintf("{ %s\n}", line)
}

// noCommand matches lines of blanks and comments.
var noCommand = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:[ \t]*(?:#[^\n]*)?(?:\n|$))*$`) })

// documentStart matches the start of a here-document whose end is a plain word.
var documentStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<<-?[ \t]*['"\\]?([A-Za-z0-9_]+)`) })

// hasOpenDocument reports whether a here-document of a line seems to have no end.
func hasOpenDocument(line string) bool {
	for _, m := range documentStart().FindAllStringSubmatchIndex(line, -1) {
		end := line[m[2]:m[3]]
		if !slices.ContainsFunc(strings.Split(line[m[3]:], "\n")[1:], func(text string) bool { return strings.TrimLeft(text, "\t") == end }) {
			return true
		}
	}
	return false
}
