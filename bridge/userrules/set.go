package userrules

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"

	"codex-bridge/bridge/rules"
)

// Set is what some files say.
type Set struct {
	Rules []Rule
	// Fault is why a file can't be read; then nothing is known of its rules.
	Err error
}

// Fate is what becomes of a line by the rules.
type Outcome int

// The fates.
const (
	Stays  Outcome = iota // no rule lets it out
	Leaves                // one does, and Keep keeps it in
	Unsure                // one may, and Keep would not do
)

// Verdict is a fate and its reason: "" of what stays.
type Verdict struct {
	Outcome Outcome
	Reason  string
}

// Judge tells what the rules do to a line that a shell would be given.
//
// Codex's own reading of a line is known in the grammar of package rules only. Outside of
// it a line is kept inside whatever it seems to say, as soon as any rule lets something
// out: Codex takes form feeds and continued lines for blanks, and bash does not (measured).
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
	if r := s.AllowingShell(); r != nil && (out != nil || !plainLine.MatchString(line)) {
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
	case outside == "" && s.hasRestriction(commands, (*Rule).matches): // codex asks about it, or refuses it
		return Verdict{}
	case !strings.ContainsAny(line, expansionChars) && s.hasRestriction(commands, (*Rule).mayMatch):
		return Verdict{Unsure, reasonFor(out) + ", unless another one asks about it, which can't be told; quote its words with '…'"}
	}
	if strings.HasSuffix(strings.TrimRight(line, " \t\r\n"), `\`) {
		return Verdict{Unsure, reasonFor(out) + ", and the line ends in a backslash"}
	}
	return leaves(out)
}

// patchLine is a patch as models write it in a shell.
var patchLine = regexp.MustCompile(`^(?:cd [A-Za-z0-9_./-]+ && )?apply_patch <<'([A-Z_]+)'\n([^\x00-\x08\x0b-\x1f]*\n)([A-Z_]+)\n*$`)

// isPatch reports whether a line is a patch, which Codex takes out of it only where there
// are no braces (measured). No line of it may look like its end.
func isPatch(line string) bool {
	m := patchLine.FindStringSubmatch(line)
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

// kept is what leaves, and would not with Keep. PowerShell takes braces for a text.
func leaves(by *Rule) Verdict {
	if runtime.GOOS == "windows" {
		return Verdict{Unsure, reasonFor(by)}
	}
	return Verdict{Leaves, reasonFor(by)}
}

func reasonFor(r *Rule) string { return r.String() + " lets it out of the sandbox, or may" }

// expanding has no plain line but within quotes (measured): no rule for its commands speaks of
// one that expands something.
const expansionChars = "$`<>(){}*?["

// plain are lines that Codex surely takes for one command and its words: one with a
// redirection, it does not.
var plainLine = regexp.MustCompile(`^[A-Za-z0-9_./][A-Za-z0-9_./ -]*$`)

// allowed is a rule by which the commands may be let out; nil, one of them is not.
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

// any tells whether a rule that asks or forbids speaks of one of the commands.
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

// Lets are the rules that let commands out.
func (s *Set) Allowing() (all []Rule) {
	for _, r := range s.Rules {
		if r.Decision == Allow {
			all = append(all, r)
		}
	}
	return all
}

// Shell is a rule that lets a shell out, with whatever it reads; nil: there is none.
func (s *Set) AllowingShell() *Rule {
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Decision == Allow && r.isForAnyShell() {
			return r
		}
	}
	return nil
}

// Keep is a line that does the same, and of which no rule for its commands speaks: to Codex
// braces are not plain (measured).
func Wrap(line string) string { return fmt.Sprintf("{ %s\n}", line) }
