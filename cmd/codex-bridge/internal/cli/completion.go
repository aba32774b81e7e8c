package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCmd prints a completion script for the bridge's own commands. For Codex's
// commands there is `codex completion`.
type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the script. Its first line shows how to use it.
func (c completionCmd) Run(out io.Writer, app *kong.Kong) error {
	spots := completionNodes(app.Model.Node, "")
	text := "# In .bashrc: source <(codex-bridge completion bash)\n" + bash(spots)
	switch c.Shell {
	case "fish":
		text = "# codex-bridge completion fish > ~/.config/fish/completions/codex-bridge.fish\n" + fish(spots)
	case "zsh":
		text = "# In .zshrc, after compinit: source <(codex-bridge completion zsh)\nautoload -U +X bashcompinit && bashcompinit\n" + bash(spots)
	}
	_, err := io.WriteString(out, text)
	return err
}

// completionNode is a command and the words that may follow it.
type completionNode struct {
	path  string // the names of the command and its parents, separated by spaces
	words []string
	help  map[string]string // of the words
	flags []*kong.Flag      // that take a value
}

func completionNodes(n *kong.Node, path string) []completionNode {
	here := completionNode{path: path, help: make(map[string]string)}
	var below []completionNode
	for _, child := range n.Children {
		if child.Hidden || child.Type != kong.CommandNode {
			continue
		}
		here.add(child.Name, child.Help)
		below = append(below, completionNodes(child, strings.TrimSpace(path+" "+child.Name))...)
	}
	if path == "" {
		here.add("app-server", "The proxy, which an editor starts.")
	}
	for _, flag := range n.Flags {
		if !flag.Hidden && (path != "" || flag.Name == "help") {
			here.add("--"+flag.Name, flag.Help)
			if !flag.IsBool() {
				here.flags = append(here.flags, flag)
			}
		}
	}
	for _, arg := range n.Positional {
		for _, word := range values(arg) {
			here.add(word, "")
		}
	}
	return append([]completionNode{here}, below...)
}

// values returns the words that a flag or an argument takes; nil if it takes any.
func values(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return strings.Split(v.Enum, ",")
}

func (p *completionNode) add(word, help string) {
	p.words = append(p.words, word)
	help, _, _ = strings.Cut(help, ". ") // the first sentence
	p.help[word] = strings.TrimSuffix(help, ".")
}

// bash returns a script whose function walks down the words typed so far. After a flag that takes any value
// it offers nothing, so that the shell completes files. zsh runs it too: there a length that begins with a
// letter is a modifier, and words is a special array.
func bash(spots []completionNode) string {
	var known, cases, after strings.Builder
	for _, p := range spots {
		for _, flag := range p.flags {
			fmt.Fprintf(&after, "\t%q) names=%q ;;\n", p.path+" --"+flag.Name, strings.Join(values(flag.Value), " "))
		}
		fmt.Fprintf(&cases, "\t%q) names=%q ;;\n", p.path, strings.Join(p.words, " "))
		if p.path != "" {
			fmt.Fprintf(&known, "%q | ", p.path)
		}
	}
	return fmt.Sprintf(`_codex_bridge() {
	local names= place= word
	for word in "${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
		case "${place:+$place }$word" in
		%s) place="${place:+$place }$word" ;;
		esac
	done
	case "$place" in
%s	esac
	case "$place ${COMP_WORDS[$((COMP_CWORD - 1))]}" in
%s	esac
	COMPREPLY=($(compgen -W "$names" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _codex_bridge codex-bridge
`, strings.TrimSuffix(known.String(), " | "), cases.String(), after.String())
}

// fish returns a script with a line per word and the commands that must precede it.
func fish(spots []completionNode) string {
	var b strings.Builder
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'" }
	for _, p := range spots {
		when := "__fish_use_subcommand"
		if p.path != "" {
			var seen []string
			for _, name := range strings.Fields(p.path) {
				seen = append(seen, "__fish_seen_subcommand_from "+name)
			}
			when = strings.Join(seen, "; and ")
		}
		commands := slices.DeleteFunc(slices.Clone(p.words), func(w string) bool { return strings.HasPrefix(w, "--") })
		if p.path != "" && len(commands) > 0 {
			when += "; and not __fish_seen_subcommand_from " + strings.Join(commands, " ")
		}
		for _, word := range p.words {
			kind := "-a " + quote(word)
			if name, ok := strings.CutPrefix(word, "--"); ok {
				kind = "-l " + quote(name) + p.fishValue(name, quote)
			}
			fmt.Fprintf(&b, "complete -c codex-bridge -n %s %s -d %s\n", quote(when), kind, quote(p.help[word]))
		}
	}
	return b.String()
}

// fishValue returns the options of fish's complete that say what follows a flag.
func (p *completionNode) fishValue(name string, quote func(string) string) string {
	for _, flag := range p.flags {
		if words := values(flag.Value); flag.Name == name && words != nil {
			return " -x -a " + quote(strings.Join(words, " "))
		} else if flag.Name == name {
			return " -r"
		}
	}
	return ""
}
