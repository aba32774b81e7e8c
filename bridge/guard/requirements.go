package guard

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/bridge/userrules"
	"codex-bridge.example/rpc"
)

// machineRequirements are the machine's requirements for Codex. Codex reads them when it starts.
type machineRequirements struct {
	file  string                              // requirements.toml; "": they are not read
	rules []setting.PrefixRule                // of the file, since Codex does not report them
	err   error                               // of reading the file
	known atomic.Pointer[policy.Requirements] // nil: Codex was not asked yet
}

// HoldRequirements makes the Guard send Codex no value that the machine's requirements exclude. file is
// Codex's requirements.toml. Call it before Codex starts.
func (g *Guard) HoldRequirements(file string) {
	m := &g.requirements
	m.file = file
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		m.err = err
	default:
		var r *setting.Requirements
		if r, m.err = setting.ParseRequirements(text, ""); m.err == nil {
			m.rules = r.Rules
		}
	}
}

// requiredPolicy returns a policy within the machine's requirements, or nil if they limit nothing of it.
func (g *Guard) requiredPolicy(ctx context.Context, method string, p *policy.Policy) (*policy.Policy, *rpc.Error) {
	if g.requirements.file == "" || p.Mode() != config.Enforce {
		return nil, nil
	}
	r := g.requirements.known.Load()
	if r == nil {
		var err error
		if r, err = g.readRequirements(ctx); err != nil {
			return nil, policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
				Method: method, Rule: "policy.mode", Reason: "the bridge can't read the machine's requirements for Codex: " + err.Error(), Hint: "find out why configRequirements/read fails",
			})
		}
		if !g.requirements.known.CompareAndSwap(nil, r) {
			r = g.requirements.known.Load()
		}
	}
	return p.Within(r, method)
}

func (g *Guard) readRequirements(ctx context.Context) (*policy.Requirements, error) {
	result, err := g.peer.CallOnce(ctx, "configRequirements/read")
	if err != nil {
		return nil, err
	}
	if g.requirements.err != nil {
		return nil, g.requirements.err
	}
	var prompts []config.Rule
	for _, one := range g.requirements.rules {
		if !one.Forbidden { // Codex itself refuses others
			prompts = append(prompts, promptRules(one, g.requirements.file)...)
		}
	}
	return policy.ParseRequirements(result, prompts, g.requirements.file)
}

// addRestrictions adds the rules of requirements.toml to the user's. Codex applies the strictest.
func (g *Guard) addRestrictions(to *userrules.Set) {
	for _, one := range g.requirements.rules {
		decision := userrules.Prompt
		if one.Forbidden {
			decision = userrules.Forbidden
		}
		to.Rules = append(to.Rules, userrules.Rule{Pattern: one.Pattern, Decision: decision, AnyCase: one.AnyCase, File: g.requirements.file})
	}
	if to.Err == nil {
		to.Err = g.requirements.err
	}
}

// maxAlternatives bounds the rules for one pattern.
const maxAlternatives = 256

// promptRules returns rules that match at least the commands of a pattern.
func promptRules(r setting.PrefixRule, file string) (all []config.Rule) {
	commands := []string{""}
	for _, words := range r.Pattern {
		globs := words
		if r.AnyCase {
			globs = inAnyCase(words)
		}
		if len(globs)*len(commands) > maxAlternatives || slices.ContainsFunc(words, func(w string) bool { return !isPlainWord(w) }) {
			globs = []string{"*"}
		}
		var longer []string
		for _, start := range commands {
			for _, word := range globs {
				longer = append(longer, strings.TrimPrefix(start+" "+word, " "))
			}
		}
		commands = longer
	}
	for _, command := range commands {
		all = append(all, config.Rule{Tool: "shell", Command: command + " **", Decision: "ask", Reason: r.Reason, Origin: config.Origin{File: file}})
	}
	return all
}

// inAnyCase returns globs that match at least each form of the words in other cases. A letter of Unicode may stand
// for one or more of ASCII, as ß for ss.
func inAnyCase(words []string) (globs []string) {
	for _, word := range words {
		var b strings.Builder
		for _, c := range word {
			switch {
			case c > '~':
				b.WriteByte('*')
			case unicode.IsLetter(c):
				b.WriteString("[" + string(unicode.ToLower(c)) + string(unicode.ToUpper(c)) + "]")
			default:
				b.WriteRune(c)
			}
		}
		globs = append(globs, b.String())
	}
	return append(globs, "*[^\x01-~]*")
}

// isPlainWord reports whether a word of a rule matches only itself.
func isPlainWord(word string) bool {
	return word != "" && !strings.ContainsAny(word, "*?[]{}\\'\"$=` \t\r\n")
}
