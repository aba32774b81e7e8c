package rules

import (
	"strings"

	"codex-bridge.example/bridge/config"
)

// PlainCommand exports plainCommand.
type PlainCommand struct {
	Words     []string
	Redirects [][2]string // the operator, and the path of a file
	Operator  string
}

// ParsePlain exports parsePlain.
func ParsePlain(line string) (commands []PlainCommand, why string) {
	plain, why := parsePlain(line)
	for _, c := range plain {
		one := PlainCommand{Words: c.words, Operator: c.operator}
		for _, r := range c.redirects {
			one.Redirects = append(one.Redirects, [2]string{r.operator, r.target})
		}
		commands = append(commands, one)
	}
	return commands, why
}

// AnsiC exports decodeANSIC.
func AnsiC(s string) (string, bool) { return decodeANSIC(s) }

// IsShellWord reports whether the grammar knows a word as a reserved word or builtin of a shell.
func IsShellWord(name string) bool { return reservedWords[name] || shellBuiltins[name] }

// HasOpaqueCommand reports whether the bridge does not know a command of a line, and whether it has
// recorded that such a command may change any file.
func HasOpaqueCommand(command, shell string, dirs Dirs) (opaque, anyFile bool) {
	l := readLine(command, shell, dirs)
	nodes := l.nodes
	for len(nodes) > 0 {
		n := nodes[0]
		nodes = append(nodes[1:len(nodes):len(nodes)], n.children...)
		// Such a line only counts for commands, see finish.
		evaluates := l.evaluates != "" || n.opaque == "" || !strings.HasPrefix(n.opaque, l.noAllow+", ") || l.noAllow == ""
		opaque = opaque || n.opaque != "" && evaluates
	}
	return opaque, l.incomplete
}

// HoldsAtStart reports whether a rule holds where programs start.
func HoldsAtStart(source config.Rule) (bool, error) {
	var r rule
	if err := r.compile(source); err != nil {
		return false, err
	}
	r.setStarts()
	return r.holdsAtStart, nil
}
