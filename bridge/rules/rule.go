package rules

import (
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
)

// rule is one compiled [[policy.rule]].
type rule struct {
	source    *config.Rule
	decision  Decision
	ends      time.Time // zero: never
	approvers []config.Quorum

	// The rule applies to shell commands, file changes, redirections that write, and other tools. A
	// tool without command and path applies to everything that the tool does.
	shell, file, redirections, tools bool

	assignments []wordGlob // NAME=value before the command
	words       []wordGlob
	required    []string    // words that a command of known words must have to match
	secondWord  string      // the word behind the command's name, if it is a plain word
	options     *optionRule // nil: the rule names no options that the table has, or allows
	path        pathGlob
	anyPath     bool   // every path matches: the rule has only a tool
	allMCP      bool   // the tool is mcp, or a glob that matches it
	mcpGlob     string // for names of MCP tools as Codex spells them

	starts, holdsAtStart bool // see setStarts
}

// compile sets r to a rule of the configuration. The error is a *config.Error.
func (r *rule) compile(source config.Rule) error {
	r.source, r.ends = &source, source.Ends()
	if q, ok := source.Quorum(); ok {
		r.approvers = []config.Quorum{q}
	}
	invalid := func(key, message, hint string) error {
		return &config.Error{
			File: source.Origin.File, Line: source.Origin.Line, Column: source.Origin.Column,
			Key: "policy.rule." + key, Message: message, Hint: hint,
		}
	}
	switch source.Decision {
	case "allow":
		r.decision = Allow
	case "ask":
		r.decision = Ask
	case "deny":
		r.decision = Deny
	default:
		return invalid("decision", `not one of "allow", "ask", "deny"`, "write one of them")
	}
	hasCommand, hasPath := strings.TrimSpace(source.Command) != "", source.Path != ""
	toShell := source.Tool == "" || config.Match(source.Tool, "shell")
	toFile := source.Tool == "" || config.Match(source.Tool, "file")
	switch {
	case source.Tool == "" && !hasCommand && !hasPath:
		return invalid("decision", "the rule has no tool, command or path", "add one of them")
	case hasCommand && !toShell:
		return invalid("command", "the rule's tool is not the shell, so its command would match nothing", `leave the tool out, or write tool = "shell"`)
	case hasPath && !toShell && !toFile:
		return invalid("path", "the bridge can't see which paths this tool uses, so the rule would match nothing", `leave the path out, or write tool = "file"`)
	case r.decision == Allow && hasCommand && hasPath:
		return invalid("path", "an allow rule can't limit a command to a path", "write two rules, one with the command and one with the path")
	case r.decision == Allow && hasPath && !toFile:
		return invalid("path", "a path can't allow a shell command", `leave the path out, or write tool = "file"`)
	}
	alone := !hasCommand && !hasPath
	if name, hint := unseenTool(source.Tool); name != "" {
		return invalid("tool", "Codex calls no hook under the name "+name+", so the rule would do nothing for it", hint)
	}
	r.shell = toShell && (hasCommand || alone)
	r.file = toFile && (hasPath || alone)
	r.redirections = hasPath && r.decision != Allow
	r.tools = alone
	r.anyPath = alone
	r.mcpGlob = mcpGlob(source.Tool)
	r.allMCP = config.Match(source.Tool, "mcp")
	if hasPath {
		r.path = compilePath(source.Path)
	}
	command := source.Command
	if !hasCommand {
		command = "**"
	}
	for _, text := range strings.Fields(command) {
		g := compileWord(text)
		if name, _, ok := strings.Cut(text, "="); ok && len(r.words) == 0 && isVariableName(name) {
			r.assignments = append(r.assignments, g)
			continue
		}
		if g.kind == literalWord && len(r.words) > 0 {
			r.required = append(r.required, g.text)
		}
		r.words = append(r.words, g)
	}
	if w := r.words; len(w) > 1 && w[0].kind != restOfWords && w[1].kind == literalWord && !strings.HasPrefix(w[1].text, "-") {
		r.secondWord = w[1].text
	}
	if r.decision != Allow && hasCommand {
		if r.options, _, _ = compileOptions(r.words); r.options != nil && r.options.readsFirstWord() {
			r.secondWord = ""
		}
	}
	return nil
}
