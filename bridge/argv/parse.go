package argv

import (
	"slices"
	"strings"
)

// AppServer is the only command that the bridge runs as a proxy.
const AppServer = "app-server"

// generators are the subcommands of app-server that print its protocol.
var generators = []string{"generate-ts", "generate-json-schema", "generate-internal-json-schema"}

// Parse parses Codex's argument list. A word that the table of commands does not have is a prompt, and a
// command may still follow it (measured: `codex hello app-server` starts the app-server). Codex takes no
// abbreviations of commands, and no files with arguments (measured: `mcp li` and `@file`).
func Parse(args []string) Line {
	l := Line{Args: args}
	for i := 0; i < len(args); {
		arg := args[i]
		switch {
		case arg == "--":
			return l // only a prompt may follow
		case isHelp(arg) || arg == "-V" || arg == "--version":
			l.Info = l.allKnown()
			return l
		case isFlag(arg):
			item := parseFlag(flags()[noCommand], args, i)
			l.Items = append(l.Items, item)
			i += item.Len
			continue
		}
		if c := firstWord(arg); c != nil {
			l.Command, l.CommandAt, l.Row = c.Name, i, c
			l.parseRest(i + 1)
			return l
		}
		l.Items = append(l.Items, Item{Value: args[i], At: i, Len: 1})
		i++
	}
	return l
}

func isHelp(arg string) bool { return arg == "-h" || arg == "--help" }

// parseRest parses the arguments after the command.
func (l *Line) parseRest(at int) {
	switch l.Command {
	case AppServer:
		l.parseAppServer(at)
	case "exec":
		l.parseExec(at)
	case "review":
		l.Sub, l.SubAt = l.Command, l.CommandAt
		l.parseExec(at)
	case "help", "completion":
		l.Info = l.allKnown()
	default:
		l.parseNested(at)
	}
}

// parseAppServer parses the arguments of app-server, and determines whether it serves stdio.
func (l *Line) parseAppServer(at int) {
	for i := at; i < len(l.Args); {
		arg := l.Args[i]
		switch {
		case isHelp(arg) || arg == "help":
			l.Second, l.Info = arg, l.allKnown()
			return
		case isFlag(arg) && arg != "--":
			item := parseFlag(flags()[AppServer], l.Args, i)
			l.Items = append(l.Items, item)
			i += item.Len
			if item.Name == "--print-startup-config" || item.Name == "--listen" && item.Value != "stdio://" {
				l.Second, l.Row = item.Name, LookUp(AppServer, item.Name)
				return
			}
		case slices.Contains(generators, arg):
			info := l.allKnown()
			l.Second, l.Row = arg, l.Row.Nested(arg)
			l.parseNested(i + 1)
			l.Info = info
			return
		case l.Row.Nested(arg) != nil: // daemon and proxy
			l.Second, l.Row = arg, l.Row.Nested(arg)
			return
		default: // codex refuses it
			l.Items = append(l.Items, Item{Value: arg, At: i, Len: 1})
			i++
		}
	}
	l.Proxy = true
}

// parseExec parses the arguments of exec and review. A command of exec may follow its prompt (measured:
// `codex exec hello resume --last` resumes).
func (l *Line) parseExec(at int) {
	for i := at; i < len(l.Args); {
		table, arg := flags()[strings.TrimSpace("exec "+l.Sub)], l.Args[i]
		if l.Command == "review" {
			table = flags()[l.Command]
		}
		switch {
		case arg == "--":
			for i++; i < len(l.Args); i++ {
				l.addWord(i)
			}
			return
		case isHelp(arg), l.Sub == "" && (arg == "help" || arg == "-V" || arg == "--version"):
			l.Info = l.allKnown()
			return
		case isFlag(arg):
			item := parseFlag(table, l.Args, i)
			l.Items = append(l.Items, item)
			i += item.Len
			continue
		case l.Sub == "" && arg != "" && flags()["exec "+arg] != nil:
			l.Sub, l.SubAt, l.Second = arg, i, arg
		default:
			l.addWord(i)
		}
		i++
	}
}

// addWord adds a word after exec or review.
func (l *Line) addWord(at int) {
	if l.Second == "" && l.allKnown() {
		l.Second = l.Args[at]
	}
	l.Items = append(l.Items, Item{Value: l.Args[at], At: at, Len: 1})
}

// parseNested finds the command that is nested in another, and the arguments of a harmless one. For other
// commands it stops at the first argument that is neither nested nor a flag of the configuration, since the
// table does not have their arguments.
func (l *Line) parseNested(at int) {
	for i := at; i < len(l.Args); {
		arg := l.Args[i]
		nested := l.Row.Nested(arg)
		switch {
		case isHelp(arg), arg == "help" && l.Row.HasNested() && l.Next == "":
			l.Info = l.allKnown()
			return
		case isFlag(arg):
			item := parseFlag(slices.Concat(flags()[everyCommand], l.Row.flags), l.Args, i)
			if l.Row.Verdict != Bridged { // the terminal interface sends its flags to the app-server
				l.Items = append(l.Items, item)
			}
			if item.State != Valid {
				return // the next word may be its value
			}
			i += item.Len
			continue
		case l.Next == "" && nested != nil:
			l.Row = nested
		case l.Row.Verdict != Harmless || l.Row.HasNested():
			l.setNext(arg)
			return
		default:
			l.Items = append(l.Items, Item{Value: arg, At: i, Len: 1})
			l.setNext(arg)
		}
		if l.Second == "" {
			l.Second = arg
		}
		i++
	}
	l.Info = l.Row.Verdict == Group && l.allKnown()
}

func (l *Line) setNext(arg string) {
	if l.Next == "" {
		l.Next = arg
	}
	if l.Second == "" {
		l.Second = arg
	}
}
