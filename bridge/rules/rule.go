package rules

import (
	"strings"

	"codex-bridge/bridge/config"
)

// rule is one [[policy.rule]], compiled.
type rule struct {
	source   *config.Rule
	decision Decision

	// What it speaks of. The keys tell: command of the shell, path of files, and
	// tool narrows that down; a tool alone means all that the tool does.
	shell, file, writes, tools bool

	assigns []wordGlob // NAME=value before the command
	words   []wordGlob
	needs   []string // words that a command of known words must have
	second  string   // a plain word behind the command's name
	path    pathGlob
	any     bool // any path: a tool alone
	toolPre string
	mcp     bool // its tool says mcp
}

func (r *rule) compile(source config.Rule) error {
	r.source = &source
	fault := func(key, message, mend string) error {
		return &config.Error{
			File: source.Origin.File, Line: source.Origin.Line, Column: source.Origin.Column,
			Key: "policy.rule." + key, Message: message, Mend: mend,
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
		return fault("decision", `not one of "allow", "ask", "deny"`, "write one of them")
	}
	hasCommand, hasPath := strings.TrimSpace(source.Command) != "", source.Path != ""
	toShell := source.Tool == "" || config.Match(source.Tool, "shell")
	toFile := source.Tool == "" || config.Match(source.Tool, "file")
	switch {
	case source.Tool == "" && !hasCommand && !hasPath:
		return fault("decision", "the rule speaks of nothing", "add tool, command or path")
	case hasCommand && !toShell:
		return fault("command", "the tool of this rule is not the shell, so its command would match nothing", `leave the tool out, or write tool = "shell"`)
	case hasPath && !toShell && !toFile:
		return fault("path", "which paths this tool touches can't be seen, so the rule would match nothing", `leave the path out, or write tool = "file"`)
	case r.decision == Allow && hasCommand && hasPath:
		return fault("path", "an allow rule can't hold a command to a path", "write two rules, one with the command and one with the path")
	case r.decision == Allow && hasPath && !toFile:
		return fault("path", "a path can't allow a shell command", `leave the path out, or write tool = "file"`)
	}
	alone := !hasCommand && !hasPath
	if name, hint := unseenTool(source.Tool); name != "" {
		return fault("tool", "Codex calls no hook under the name "+name+", so the rule would do nothing for it", hint)
	}
	r.shell = toShell && (hasCommand || alone)
	r.file = toFile && (hasPath || alone)
	r.writes = hasPath && r.decision != Allow
	r.tools = alone
	r.any = alone
	r.toolPre = source.Tool
	if i := strings.IndexAny(source.Tool, globMeta); i >= 0 {
		r.toolPre = source.Tool[:i]
	}
	r.mcp = config.Match(source.Tool, "mcp")
	if hasPath {
		r.path = compilePath(source.Path)
	}
	command := source.Command
	if !hasCommand {
		command = "**"
	}
	for _, text := range strings.Fields(command) {
		g := compileWord(text)
		if name, _, ok := strings.Cut(text, "="); ok && len(r.words) == 0 && variable(name) {
			r.assigns = append(r.assigns, g)
			continue
		}
		if g.kind == literalWord && len(r.words) > 0 {
			r.needs = append(r.needs, g.text)
		}
		r.words = append(r.words, g)
	}
	if w := r.words; len(w) > 1 && w[0].kind != restOfWords && w[1].kind == literalWord && !strings.HasPrefix(w[1].text, "-") {
		r.second = w[1].text
	}
	return nil
}
