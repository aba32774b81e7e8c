package argv

import "slices"

// AppServer is the only command that the bridge runs as a proxy.
const AppServer = "app-server"

// commands are the subcommands of Codex 0.169.0, from --help and the completion script. Any other
// word is a prompt, and a command may still follow it (measured: `codex hello app-server` starts
// the app-server).
var commands = []string{
	AppServer, "agents", "exec", "review", "login", "logout", "mcp", "plugin", "remote-control",
	"completion", "update", "doctor", "sandbox", "debug", "apply", "resume", "queue",
	"archive", "delete", "migrate-rollouts", "migrate-nfs-db", "unarchive", "fork", "cloud",
	"exec-server", "features", "help",
	"tcp-tunnel", "git-credential", "execpolicy", "responses-api-proxy", "stdio-to-uds",
}

// Commands returns the subcommands of Codex.
func Commands() []string { return slices.Clone(commands) }

// generators are the subcommands of app-server that print its protocol.
var generators = []string{"generate-ts", "generate-json-schema", "generate-internal-json-schema"}

var aliases = map[string]string{"e": "exec", "a": "apply", "cloud-tasks": "cloud"}

// Parse parses Codex's argument list.
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
			item := parseFlag(allRootFlags, args, i)
			l.Items = append(l.Items, item)
			i += item.Len
			continue
		}
		if full, ok := aliases[arg]; ok {
			arg = full
		}
		if slices.Contains(commands, arg) {
			l.Command, l.CommandAt = arg, i
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
		l.parseSecond(at)
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
			item := parseFlag(allAppServerFlags, l.Args, i)
			l.Items = append(l.Items, item)
			i += item.Len
			if item.Name == "--print-startup-config" || item.Name == "--listen" && item.Value != "stdio://" {
				l.Second = item.Name
				return
			}
		case slices.Contains(generators, arg):
			l.Second, l.Info = arg, l.allKnown()
			return
		case arg == "daemon" || arg == "proxy":
			l.Second = arg
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
		table, arg := execFlags[l.Sub], l.Args[i]
		if l.Command == "review" {
			table = reviewCommandFlags
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
		case l.Sub == "" && arg != "" && execFlags[arg] != nil:
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

// parseSecond finds the first word after another command.
func (l *Line) parseSecond(at int) {
	for i := at; i < len(l.Args); {
		arg := l.Args[i]
		if isHelp(arg) {
			l.Info = l.allKnown()
			return
		}
		if !isFlag(arg) {
			l.Second = arg
			return
		}
		item := parseFlag(commonFlags, l.Args, i)
		if item.State != Valid {
			return // the next word may be its value
		}
		i += item.Len
	}
}
