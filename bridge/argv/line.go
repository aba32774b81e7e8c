package argv

// Line is an argument list (without the program's name) that was read.
type Line struct {
	Args []string
	// Command is codex's subcommand, aliases resolved; "" when there is none:
	// codex opens its terminal interface.
	Command string
	// Second is the first word after the command ("add" of `mcp add`), or "" where
	// there is none or it can't be told from the value of a flag. For an app-server
	// that does not serve stdio it is the word or flag that says so.
	Second string
	// Proxy: `codex app-server` on stdio, which goes through the bridge. Every
	// other line becomes the real codex.
	Proxy bool
	// Info: it asks for help, the version or a completion script, and does nothing.
	Info bool
	// Items are the arguments before the command, in order; for an app-server
	// those after it, too. The command itself is not among them.
	Items []Item
}

// Item is a flag with its values, or a word.
type Item struct {
	// Name is the flag's long name ("--config" for -c); a flag that is not known
	// is named as it was written. "" for a word.
	Name  string
	Value string // of the flag; the word itself
	At    int    // Args[At:At+Len] is what it takes up
	Len   int
	State State
}

// State says how well an item was understood.
type State uint8

// The states.
const (
	Valid   State = iota
	Unknown       // no flag of the codex that was measured
	Invalid       // a value is missing, or there is one too many; codex refuses it (measured)
)

// known tells whether every flag was: an unknown one may take the next word for
// its value, and what looks like --help may then be none.
func (l Line) allKnown() bool {
	for _, item := range l.Items {
		if item.State == Unknown {
			return false
		}
	}
	return true
}
