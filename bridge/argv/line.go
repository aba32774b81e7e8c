package argv

import (
	"slices"
	"strings"
)

// Line is a parsed argument list, without the program's name.
type Line struct {
	Args []string
	// Command is Codex's subcommand, with aliases resolved. If it is "" Codex opens its terminal
	// interface.
	Command string
	// Second is the first word after the command ("add" in `mcp add`). It is "" if there is none,
	// or if it may be the value of a flag. For an app-server that does not serve stdio it is the
	// word or flag that says so.
	Second string
	// Row is the command, or the one nested in it, as far as the table has them; nil without a command. Of
	// those of exec it is exec.
	Row *Command
	// Next is the first word after Row. It is "" if there is none, or if it may be the value of a flag, and
	// for commands that the bridge runs.
	Next string
	// Sub is the command of exec: resume, fork or review; "" for none. For the command review, which is
	// exec review with fewer flags, it is review, too.
	Sub string
	// SubAt is the index of Sub in Args, if it is not "".
	SubAt int
	// Proxy reports `codex app-server` on stdio, which the bridge runs as a proxy. Every other
	// line is passed to Codex.
	Proxy bool
	// CommandAt is the index of Command in Args; 0 without a command.
	CommandAt int
	// Info reports a request for help, the version or a completion script.
	Info bool
	// Items are the arguments before the command, in order; for an app-server, exec, review and harmless
	// commands, also those after it. For others, also the flags of the configuration that directly follow the
	// command, and the unknown flag that ends them. The commands themselves are not among them.
	Items []Item
}

// Item is a flag with its values, or a word.
type Item struct {
	// Name is the flag's long name ("--config" for -c). An unknown flag has the name as written.
	// For a word it is "".
	Name  string
	Value string // of the flag, or the word
	At    int    // the item is Args[At:At+Len]
	Len   int
	State State
	Flag  *Flag // the row of the flag for the command; nil for words, unknown flags and those of commands.txt
}

// State is the result of parsing an item.
type State uint8

// States of an Item.
const (
	Valid   State = iota
	Unknown       // not a flag of the measured Codex
	Invalid       // a value is missing, or not expected; Codex refuses it (measured)
)

// allKnown reports whether all flags are known. The word after an unknown flag may be its value,
// even if it looks like --help. So may that after a flag that a person has not judged: Codex does not list
// how many values a flag takes.
func (l Line) allKnown() bool {
	return !slices.ContainsFunc(l.Items, func(item Item) bool {
		return item.State == Unknown || item.Flag.isUnjudged()
	})
}

// interactive are the commands that open Codex's terminal interface.
var interactive = []string{"", "resume", "fork", "agents"}

// OnlyInfo returns the arguments of a request for help or the version, without those Items that begin at Args[from] or
// later.
func (l Line) OnlyInfo(from int) []string {
	args, at := []string{}, 0
	for _, item := range l.Items {
		if item.At >= from {
			args = append(args, l.Args[at:item.At]...)
			at = item.At + item.Len
		}
	}
	return append(args, l.Args[at:]...)
}

// Interactive reports whether Codex opens its terminal interface. It is then a client of an
// app-server: its own, or the one that --remote names.
func (l Line) Interactive() bool { return !l.Info && slices.Contains(interactive, l.Command) }

// Exec reports whether Codex runs a turn without its terminal interface: exec or review.
func (l Line) Exec() bool { return !l.Info && (l.Command == "exec" || l.Command == "review") }

// Generates reports whether app-server writes files that describe its protocol. Such a line is Info, too.
func (l Line) Generates() bool {
	return l.Command == AppServer && slices.Contains(generators, l.Second)
}

// Words returns the words that patterns for commands are compared with: those of Row, and Next.
func (l Line) Words() []string {
	if l.Row == nil {
		return nil
	}
	words := strings.Fields(l.Row.Name)
	if l.Next != "" {
		words = append(words, l.Next)
	}
	return words
}

// Values returns the values of a flag that takes several.
func (l Line) Values(item Item) []string {
	if item.Len == 1 {
		return []string{item.Value}
	}
	return l.Args[item.At+1 : item.At+item.Len]
}

// WithRemote returns the arguments of an interactive Codex that uses the app-server at this address.
// more are further flags.
func (l Line) WithRemote(address string, more ...string) []string {
	at := l.CommandAt
	if l.Command != "" {
		at++
	}
	return slices.Concat(l.Args[:at], []string{"--remote", address}, more, l.Args[at:])
}
