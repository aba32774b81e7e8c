package rules

import (
	"errors"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/display"
)

// Program is the start of a program, as the kernel sees it. No shell reads its words.
type Program struct {
	Path     string   // of the file, absolute; as the caller of execve named it
	Resolved string   // the path of the file without links; "" if it is unknown
	Args     []string // the argument vector with the name of the program; it may be empty
	Dir      string   // the folder of the process, absolute; "" if it is unknown
	// Unreadable says why the program or its words are not known; "" if they are. It may be any.
	Unreadable string
	// Follow returns the file behind all links of a path, absolute or relative to Dir, as the process sees it. An error
	// that is not fs.ErrNotExist says that the file is not known. nil: the paths are those of this process.
	Follow func(path string) (string, error)
}

// Program decides the start of a program by the rules for commands. The names of the program are the
// last parts of its path, of the path without links and of its first argument. A deny or ask rule
// applies if it matches one of them, and also if it matches what the program only loads, such as the
// program in the arguments of ld.so. An allow rule hides later rules of its layer, as in a line; the
// decision is never Allow.
//
// Rules without the name of a program, such as "**", and rules with assignments or a path do not count
// here. They decide about lines.
func (s *Set) Program(p Program, e Escalation, dirs Dirs) Match {
	var best Match
	commands := p.commands(dirs.Follow)
	for _, c := range commands {
		m := s.decideStart(c, e, dirs)
		if m.Decision == Allow {
			m = Match{Exceptions: m.Exceptions}
		} else if m.Decision > Allow && c.unknown != "" {
			m.Why = c.unknown + couldMatch
		}
		best.tighten(m)
	}
	if best.Decision != None || len(best.Exceptions) > 0 {
		best.setPart(p.text(commands[0].spellings(dirs)))
	}
	if best.Decision == None {
		best.Part = ""
	}
	return best
}

// Strictest returns the strictest of several decisions, with what all of them need.
func Strictest(all ...Match) (best Match) {
	for _, m := range all {
		best.tighten(m)
	}
	return best
}

// decideStart decides one command as which a program start counts.
func (s *Set) decideStart(c *startedCommand, e Escalation, dirs Dirs) Match {
	var spelled []spelling
	return s.decide(e, func(l *layer) iter.Seq[int] { return l.start.forNames(c.names, c.unknown == "") }, func(r *rule) certainty {
		if spelled == nil && c.unknown == "" { // few programs have a rule
			spelled = c.spellings(dirs)
		}
		switch {
		case c.unknown == "" && c.isExactly(r, spelled, dirs):
			return certainMatch
		case r.decision != Allow && c.mayBe(r):
			return possibleMatch
		}
		return noMatch
	})
}

// maxPartLen bounds Match.Part for a program, in bytes.
const maxPartLen = 1000

// text returns the words of a program for people, with its path unless shells find it by its name.
func (p *Program) text(spelled []spelling) string {
	words := []string{p.Path}
	for i := range spelled {
		if name := spelled[i].name.text; !strings.Contains(name, "/") {
			words[0] = name
		}
	}
	if len(p.Args) > 0 {
		words = append(words, p.Args[1:]...)
	}
	if p.Path == "" {
		words = p.Args
	}
	text := strings.ToValidUTF8(strings.Join(words, " "), "\uFFFD")
	if len(text) > maxPartLen {
		text = display.Start(text, maxPartLen) + " …"
	}
	return text
}

// argv0 returns the name in the first argument. Login shells get it with a dash.
func (p *Program) argv0() string {
	if len(p.Args) == 0 {
		return ""
	}
	return strings.TrimPrefix(p.Args[0], "-")
}

// startedCommand is a command as which a program start counts.
type startedCommand struct {
	names []string // of the program; a deny or ask rule may match each
	// file is the path by which allow rules know the program; "" if they don't. resolved is that
	// path without links.
	file, resolved string
	args           []word // the words behind the name
	// script is the file that a shell reads, as its argument spells it; "" if none. folder is that of
	// the process.
	script, folder string
	unknown        string // why the command may be any; "" if it is known

	nodes []*node // the command by each of its names; nil until mayBe needs them
}

// commands returns the commands as which p counts, at least one: p itself first, then what it loads.
// follow resolves the path of a loaded program; it may be nil.
func (p *Program) commands(follow func(string) (string, error)) []*startedCommand {
	r := startReader{follow: follow}
	r.add(p, 0, false)
	return r.commands
}

// startReader collects the commands as which a program start counts.
type startReader struct {
	follow   func(string) (string, error)
	commands []*startedCommand
}

// maxStartedCommands bounds the commands as which one program start counts.
const maxStartedCommands = 2 * maxSuffixWords

// addUnknown adds a command that may be any.
func (r *startReader) addUnknown(why string) {
	r.commands = append(r.commands, &startedCommand{names: []string{""}, unknown: why})
}

// add adds p and the programs that it loads. isSuffix: p is one of the suffixes of other words, which
// are added, too.
func (r *startReader) add(p *Program, depth int, isSuffix bool) {
	if p.Unreadable != "" {
		r.addUnknown(p.Unreadable)
		return
	}
	if depth > maxDepth || len(r.commands) >= maxStartedCommands {
		if n := len(r.commands); r.commands[n-1].unknown == "" {
			r.addUnknown("it loads too many other programs")
		}
		return
	}
	c := &startedCommand{folder: p.Dir}
	for _, name := range []string{p.Path, p.argv0(), p.Resolved} {
		// A name without a folder adds nothing to a path that ends with it.
		if name != "" && !slices.Contains(c.names, name) && (len(c.names) == 0 || name != path.Base(c.names[0])) {
			c.names = append(c.names, name)
		}
	}
	if len(c.names) == 0 {
		r.addUnknown("the name of the program is not known")
		return
	}
	var args []string
	if len(p.Args) > 0 {
		args = p.Args[1:]
	}
	c.args = literals(args)
	if len(p.Args) == 0 || path.Base(p.argv0()) == path.Base(p.Path) {
		c.file, c.resolved = p.Path, p.Resolved
	}
	r.commands = append(r.commands, c)
	r.addLoaded(p, c, args, depth+1, isSuffix)
}

// addLoaded adds the programs that p loads into its own process, and the script that a shell reads.
func (r *startReader) addLoaded(p *Program, c *startedCommand, args []string, depth int, isSuffix bool) {
	var loader, applets, shell bool
	var gitCommand string
	for _, name := range c.names {
		key := programKey(name)
		loader = loader || IsLoader(key) || isEmulator(key)
		applets = applets || isAppletProgram(key)
		_, isShell := shellDialects[key]
		shell = shell || isShell
		if command, ok := strings.CutPrefix(key, "git-"); ok && command != gitCommand {
			gitCommand = command
			r.add(&Program{Args: append([]string{"git", command}, args...), Dir: p.Dir, Follow: p.Follow}, depth, isSuffix)
		}
	}
	if loader {
		r.addOfLoader(p, args, depth, isSuffix)
	}
	if applets {
		// By the name of an applet, the program is that applet, and has no other in its words.
		r.addApplet(p, args, depth, isAppletProgram(programKey(c.names[0])) || isAppletProgram(programKey(p.argv0())))
	}
	if o, ok := readShellOptions(c.args, func(*word) bool { return false }); shell && ok && !o.text && !o.input {
		if words := args[len(args)-len(o.rest):]; len(words) > 0 {
			c.script = words[0]
			r.add(&Program{Path: inFolder(p.Dir, words[0]), Args: words, Dir: p.Dir, Follow: p.Follow}, depth, isSuffix)
		}
	}
}

// inFolder returns the path of a file that a word names, in a folder that may be unknown.
func inFolder(folder, file string) string {
	if path.IsAbs(file) || folder == "" {
		return file
	}
	return path.Join(folder, file)
}

// loaderOptions are the options of the loaders of glibc and musl. The value is true if the next word
// belongs to the option.
var loaderOptions = map[string]bool{
	"--list": false, "--verify": false, "--inhibit-cache": false,
	"--library-path": true, "--glibc-hwcaps-prepend": true, "--glibc-hwcaps-mask": true, "--inhibit-rpath": true, "--audit": true, "--preload": true, "--argv0": true,
}

// addOfLoader adds the program in the arguments of the loader or an emulator. With other options than those of both
// loaders, each rest of the words may be that program.
func (r *startReader) addOfLoader(p *Program, args []string, depth int, isSuffix bool) {
	loaded := func(words []string, argv0 string, isSuffix bool) {
		q := Program{Path: inFolder(p.Dir, words[0]), Args: slices.Clone(words), Dir: p.Dir, Follow: p.Follow}
		if argv0 != "" {
			q.Args[0] = argv0
		}
		var err error
		if p.Follow != nil {
			q.Resolved, err = p.Follow(words[0])
		} else if r.follow != nil && path.IsAbs(q.Path) {
			q.Resolved, _ = r.follow(q.Path)
		}
		r.add(&q, depth, isSuffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.addUnknown("the program that the loader runs is not known")
		}
	}
	argv0 := ""
	for i := 0; i < len(args); i++ {
		takes, isOption := loaderOptions[args[i]]
		switch {
		case takes && args[i] == "--argv0" && i+1 < len(args):
			argv0 = args[i+1]
			i++
		case takes && i+1 < len(args):
			i++
		case isOption && !takes:
		case !isOption && args[i] != "" && args[i][0] != '-':
			loaded(args[i:], argv0, isSuffix)
			return
		case isSuffix: // the suffixes of an inner command are suffixes of the outer one
			return
		case len(args) > maxSuffixWords:
			r.addUnknown("the loader has too many words")
			return
		default:
			for j := range args {
				if args[j] != "" {
					loaded(args[j:], "", true)
				}
			}
			return
		}
	}
}

// valgrindTools are the programs that valgrind becomes: memcheck-amd64-linux.
var valgrindTools = setOf("memcheck", "cachegrind", "callgrind", "helgrind", "drd", "massif", "dhat", "lackey", "none", "exp-bbv")

// isEmulator reports whether a program runs the program in its arguments in its own process, without a call of the
// kernel that starts it.
func isEmulator(key string) bool {
	if key == "valgrind" || strings.HasPrefix(key, "valgrind.") || strings.HasPrefix(key, "box64") || strings.HasPrefix(key, "box86") || key == "fexinterpreter" || key == "fexloader" || key == "fexbash" {
		return true
	}
	if machine, ok := strings.CutPrefix(key, "qemu-"); ok {
		return !strings.HasPrefix(machine, "system-")
	}
	tool, ok := strings.CutSuffix(key, "-linux")
	return ok && strings.Contains(tool, "-") && valgrindTools[tool[:strings.LastIndex(tool, "-")]]
}

// isAppletProgram reports whether a program has many others in itself, and runs the one that its first
// word names.
func isAppletProgram(key string) bool {
	return strings.HasPrefix(key, "busybox") || strings.HasPrefix(key, "toybox") || strings.HasPrefix(key, "coreutils")
}

// addApplet adds the applet that an argument names. byWord: the first word may be its name; else only the
// option of coreutils gives it.
func (r *startReader) addApplet(p *Program, args []string, depth int, byWord bool) {
	for i, arg := range args {
		if name, ok := strings.CutPrefix(arg, "--coreutils-prog="); ok {
			r.add(&Program{Args: append([]string{name}, args[i+1:]...), Dir: p.Dir, Follow: p.Follow}, depth, true)
			return
		}
		if name, ok := strings.CutPrefix(arg, "--coreutils-prog-shebang="); ok {
			for _, words := range [][]string{args[i+1:], args[min(i+2, len(args)):]} { // with the script's name and without
				r.add(&Program{Args: append([]string{name}, words...), Dir: p.Dir, Follow: p.Follow}, depth, true)
			}
			return
		}
		if byWord && arg != "" {
			r.add(&Program{Args: args[i:], Dir: p.Dir, Follow: p.Follow}, depth, true)
		}
		if !strings.HasPrefix(arg, "-") {
			return
		}
	}
}

// spelling is a name of a program in a rule that surely means it.
type spelling struct {
	name       word
	isRelative bool // the path from the workspace
}

// spellings returns the names by which a rule surely means the program: its path, its last part if
// shells find it by that name, and its path from the workspace.
func (c *startedCommand) spellings(dirs Dirs) []spelling {
	file := path.Clean(c.file)
	if !path.IsAbs(c.file) || hasParentBehindName(c.file) {
		return nil
	}
	all := []spelling{{name: literal(file)}}
	folder, base := path.Split(file)
	for _, at := range dirs.ProgramFolders {
		resolved, resolvedBase := path.Split(c.resolved)
		if at = path.Clean(at); path.Clean(folder) == at || c.resolved != "" && resolvedBase == base && path.Clean(resolved) == at {
			all = append(all, spelling{name: literal(base)})
			break
		}
	}
	if rest, ok := relativeTo(filepath.ToSlash(dirs.Workspace), file); ok && dirs.Workspace != "" && rest != "" {
		all = append(all, spelling{name: literal("./" + rest), isRelative: true})
	}
	return all
}

// isExactly reports whether a rule surely matches the command, word by word.
func (c *startedCommand) isExactly(r *rule, spelled []spelling, dirs Dirs) bool {
	if r.decision == Allow && c.script != "" && !path.IsAbs(c.script) && c.folder != filepath.ToSlash(dirs.Workspace) {
		return false // a rule's script is relative to the workspace
	}
	head := &r.words[0]
	for i := range spelled {
		name := &spelled[i].name
		if head.kind == restOfWords {
			if (r.decision != Allow || !strings.Contains(name.text, "/")) && matchSequence(r.words, append([]word{*name}, c.args...), false) {
				return true
			}
			continue
		}
		matches := head.matchesAllowedName(name) || r.decision != Allow && head.certain(name)
		if spelled[i].isRelative {
			matches = head.matchesRelativePath(".", name.text)
		}
		if matches && matchSequence(r.words[1:], c.args, false) {
			return true
		}
	}
	return false
}

// mayBe reports whether a deny or ask rule matches the command by one of its names.
func (c *startedCommand) mayBe(r *rule) bool {
	if c.unknown != "" {
		return true
	}
	if c.nodes == nil {
		for _, name := range c.names {
			c.nodes = append(c.nodes, newNode(append([]word{literal(name)}, c.args...), nil))
		}
	}
	return slices.ContainsFunc(c.nodes, func(n *node) bool { return r.matchWords(n) != noMatch })
}
