package rules

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// handle adds the commands that a command runs.
func (r *reader) handle(n *node, c readContext) {
	name := &n.words[0]
	if name.kind != known {
		r.handleUnknownName(n, c)
		return
	}
	if strings.HasPrefix(name.text, "-") && name.text != "-" {
		r.addSuffixCommands(n, c, false) // such as behind time --
		return
	}
	if IsLoader(name.key()) {
		r.addSuffixCommands(n, c, false)
		return
	}
	if strings.HasPrefix(name.key(), "git-") {
		handleDashedGit(r, n, c)
		return
	}
	if open, ok := handlers[name.key()]; ok {
		open(r, n, c)
		// The real programs are found by their plain name, or in a system folder.
		if dir, base := path.Split(name.text); base != name.key() || dir != "" && !systemDirs[dir] {
			n.transparent = false
		}
	}
}

// IsLoader reports whether a file of this name, without a folder, is the dynamic loader, which runs the program in its
// arguments: ld-linux-x86-64.so.2, ld-musl-aarch64.so.1, ld.so, and the library of musl, which is the same file.
func IsLoader(name string) bool {
	return strings.HasPrefix(name, "ld") && (strings.Contains(name, ".so.") || strings.HasSuffix(name, ".so")) ||
		name == "libc.so" || strings.HasPrefix(name, "libc.musl-")
}

// systemDirs are the folders in which systems keep wrappers.
var systemDirs = setOf("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/run/current-system/sw/bin/")

// handler adds the commands that n runs, and records other effects of n.
type handler func(r *reader, n *node, c readContext)

var handlers map[string]handler

func init() {
	handlers = map[string]handler{
		"env": handleEnv, "xargs": handleXargs, "find": handleFind, "eval": handleEval, "trap": handleTrap, "alias": handleAlias,
		"source": handleSource, ".": handleSource, "git": handleGit, "command": handleCommand, "cd": handleCd, "pushd": handleCd, "popd": handleCd, "chdir": handleCd,
		"su": handleSu, "script": handleSu, "sudo": handleSu, "gxargs": handleXargs, "gfind": handleFind, "fd": handleFd, "fdfind": handleFd,
	}
	for name := range commandOptions {
		handlers[name] = handleCommandOptions
	}
	for name, d := range shellDialects {
		handlers[name] = shellHandler(d)
	}
	for name, o := range plainWrappers {
		handlers[name] = o.handle
	}
	for _, name := range looseWrappers {
		handlers[name] = func(r *reader, n *node, c readContext) { r.addSuffixCommands(n, c, false) }
	}
	for _, name := range textWrappers {
		handlers[name] = func(r *reader, n *node, c readContext) { r.addSuffixCommands(n, c, true) }
	}
	for _, name := range unread {
		handlers[name] = handleUnread
	}
	for _, name := range evaluators {
		handlers[name] = handleEvaluator
	}
	for _, name := range setters {
		handlers[name] = handleSetter
	}
}

// handleUnknownName handles a command with an unknown name, which may be any program, such as a
// shell or a wrapper.
func (r *reader) handleUnknownName(n *node, c readContext) {
	defer func(before int) { markGuessed(n.children[before:]) }(len(n.children))
	text := false
	for i := 1; i < len(n.words); i++ {
		begin := n.words[i].knownPrefix()
		text = text || len(begin) > 1 && begin[0] == '-' && begin[1] != '-' && strings.ContainsAny(begin, "cS")
	}
	r.addSuffixCommands(n, c, text)
	r.addEvaluated(n, c)
	n.transparent, n.wrapper = false, true
	r.line.noteEvaluation(arithmetic) // the program may be let, test or another such builtin
	handleSetter(r, n, c)
}

// addEvaluated adds the commands that a command runs if its name is eval. A line that can't be parsed
// runs nothing.
func (r *reader) addEvaluated(n *node, c readContext) {
	texts := make([]string, 0, len(n.words))
	for _, w := range n.words[1:] {
		if w.kind != known {
			return
		}
		texts = append(texts, w.text)
	}
	text := strings.Join(texts, " ")
	if _, err := parse(text, syntax.LangBash); !c.isSuffix && (err == nil || strings.Contains(text, "\n")) {
		n.add(r.readText(text, c.deeper())...)
	}
}

// addSuffixCommands adds every suffix of a command's words as a command: whatever the options are,
// the wrapped command is one of them. With texts, each word that contains several words is also
// read as shell text. The result suits deny and ask rules only.
func (r *reader) addSuffixCommands(n *node, c readContext, texts bool) {
	n.wrapper = true
	if len(n.words) > maxSuffixWords {
		r.skip(n, "there are too many words")
		return
	}
	r.enterOptions(n.words[1:])
	c = c.deeper()
	rest := c
	rest.isSuffix = true
	for i := 1; i < len(n.words); i++ {
		if !c.isSuffix { // the suffixes of an inner command are suffixes of the outer one
			n.add(r.readWithAssignments(n.words[i:], rest))
		}
		switch w := &n.words[i]; {
		case !texts:
		case w.kind != known:
			r.addOpaque(n, unknownText)
		case strings.ContainsAny(w.text, " \t\n;|&$`()<>"):
			n.add(r.readText(attachedValue(w.text), c)...)
		}
	}
}

// attachedValue returns the value that is in one word with its option: git push for -c'git push'.
func attachedValue(text string) string {
	if strings.HasPrefix(text, "--") {
		if _, after, ok := strings.Cut(text, "="); ok {
			return after
		}
	} else if len(text) > 2 && text[0] == '-' {
		return text[2:]
	}
	return text
}

const unknownText = "a shell runs a text that is not known"

// addWrapped adds the words as the only command that n runs.
func (r *reader) addWrapped(n *node, words []word, c readContext) {
	n.wrapper = true
	if len(words) == 0 {
		return
	}
	n.transparent = true
	n.add(r.readCommand(words, nil, c.deeper()))
}

// handleEnv handles env. With options, env may split a text, so all suffixes count.
func handleEnv(r *reader, n *node, c readContext) {
	if len(n.words) == 1 {
		return
	}
	if first := &n.words[1]; first.kind == unknownWords || first.kind == expanded || first.mayBeOption() {
		r.addSuffixCommands(n, c, false)
		for i := 1; i < len(n.words); i++ {
			begin := n.words[i].knownPrefix()
			if n.words[i].mayBeOption() && (strings.HasPrefix(begin, "--s") || !strings.HasPrefix(begin, "--") && strings.Contains(begin, "S")) {
				r.addOpaque(n, "env splits a text into words by its own rules")
				return
			}
		}
		return
	}
	kid := r.readWithAssignments(n.words[1:], c.deeper())
	n.wrapper, n.transparent = true, true
	n.add(kid)
}

// handleCommand handles command; command -v only prints a location.
func handleCommand(r *reader, n *node, c readContext) {
	if len(n.words) > 1 && n.words[1].mayBeOption() {
		if flag := n.words[1].text; flag == "-v" || flag == "-V" {
			return
		}
		r.addSuffixCommands(n, c, false)
		return
	}
	r.addWrapped(n, n.words[1:], c)
}

// handleCd records that the folder of the line changes.
func handleCd(r *reader, _ *node, _ readContext) { r.line.changesFolder = true }

// handleSu handles programs that run a shell. With -s, -i or the like, or without -c, the shell reads its input.
func handleSu(r *reader, n *node, c readContext) {
	r.addSuffixCommands(n, c, true)
	sudo, text := n.words[0].key() == "sudo", false
	for i := 1; i < len(n.words); i++ {
		begin := n.words[i].knownPrefix()
		short := len(begin) > 1 && begin[0] == '-' && begin[1] != '-'
		if sudo && (strings.HasPrefix(begin, "--s") || strings.HasPrefix(begin, "--l") || short && strings.ContainsAny(begin, "si")) {
			r.addOpaque(n, readsInput)
			return
		}
		text = text || strings.HasPrefix(begin, "-c") || strings.HasPrefix(begin, "--c")
	}
	if !sudo && !text {
		r.addOpaque(n, readsInput)
	}
}

const readsInput = "a shell runs what it reads"

// handleUnread handles programs and builtins that run something in a way that the package does not follow:
// shells with other languages, and parallel, which builds commands from its input.
func handleUnread(r *reader, n *node, _ readContext) {
	n.wrapper = true
	r.addOpaque(n, "the bridge does not read what "+n.words[0].text+" runs")
}

// handleEvaluator handles builtins that run or evaluate their arguments, or that bind names to other
// programs. Without an argument they print, except fc. So do hash and enable with -n, -r or plain names.
func handleEvaluator(r *reader, n *node, c readContext) {
	key, plain := n.words[0].key(), len(n.words) == 1
	if key == "hash" || key == "enable" {
		plain = !slices.ContainsFunc(n.words[1:], func(w word) bool {
			return w.kind != known || w.mayBeOption() && w.text != "-n" && w.text != "-r" || strings.Contains(w.text, "=")
		})
	}
	if !plain || key == "fc" {
		handleUnread(r, n, c)
	}
}

// aliasKey starts the keys of aliases in the configuration of git.
const aliasKey = "alias."

// handleGit handles git. An alias in its options may be any command.
func handleGit(r *reader, n *node, c readContext) {
	r.addGitCommands(n, c)
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		key, given := strings.CutPrefix(w.knownPrefix(), "--config-env=")
		if !given {
			key, given = strings.CutPrefix(w.knownPrefix(), "-c")
		}
		if before := n.words[i-1].text; before == "-c" || before == "--config-env" {
			key, given = w.knownPrefix(), true
		}
		if given {
			setting := *w // perhaps joined to -c
			setting.text, setting.prefix = strings.TrimPrefix(w.text, "-c"), strings.TrimPrefix(w.prefix, "-c")
			r.addGitConfig(n, setting, c)
		}
		key = strings.ToLower(key)
		common := min(len(key), len(aliasKey))
		if given && key[:common] == aliasKey[:common] && (common == len(aliasKey) || w.kind != known) {
			r.addOpaque(n, "a git alias may be any command")
			n.needsBoth = true
			return
		}
	}
}

// handleFind handles find, which runs commands with -exec and similar options.
func handleFind(r *reader, n *node, c readContext) {
	var kids []*node
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		if w.kind != known {
			if w.mayBeOption() && w.kind != single {
				n.needsBoth = true
				r.line.forbidAllow("find may be told to run something")
			}
			continue
		}
		switch w.text {
		case "-exec", "-ok":
		case "-execdir", "-okdir":
			r.line.changesFolder = true // the command runs in the folder of each file
			r.line.enter("*")
		default:
			continue
		}
		several := strings.HasPrefix(w.text, "-exec") // for -ok, + is an argument
		var words []word
		for i++; i < len(n.words) && n.words[i].text != ";"; i++ {
			w := n.words[i]
			if several && w.text == "+" && n.words[i-1].text == "{}" {
				break
			}
			if before, after, ok := strings.Cut(w.text, "{}"); ok && w.kind == known {
				w = word{kind: single, prefix: before, suffix: after[strings.LastIndex(after, "}")+1:], template: strings.ReplaceAll(w.text, "{}", "\x00")}
			}
			words = append(words, w)
		}
		c := c.deeper()
		c.isSuffix = false // the command ends before the end of the line
		kids = append(kids, r.readCommand(words, nil, c))
	}
	if len(kids) > 0 {
		n.wrapper, n.needsBoth, n.children = true, true, kids
	}
}

// handleFd handles fd, which runs commands with -x and -X.
func handleFd(r *reader, n *node, c readContext) {
	for i := 1; i < len(n.words); i++ {
		begin := n.words[i].knownPrefix()
		if len(begin) > 1 && begin[0] == '-' && begin[1] != '-' && strings.ContainsAny(begin, "xX") || strings.HasPrefix(begin, "--exec") {
			r.addSuffixCommands(n, c, false)
			n.needsBoth = true
			return
		}
	}
}

// handleXargs handles xargs, which adds unknown words behind the command, or in place of a mark.
func handleXargs(r *reader, n *node, c readContext) {
	rest, values, ok := skipOptions(n.words[1:], "0rtpxo", "nLPsadEIJRS", xargsLong)
	_, replaces := values["I"]
	if _, other := values["J"]; !ok || replaces && (other || values["I"] == "") {
		r.addSuffixCommands(n, c, false)
		r.addOpaque(n, "xargs may put any words into the command that it runs")
		return
	}
	if len(rest) == 0 {
		return
	}
	words := rest[:len(rest):len(rest)]
	mark := values["I"] + values["J"]
	switch {
	case values["I"] != "" || values["J"] != "":
		words = make([]word, len(rest))
		for i, w := range rest {
			if before, after, ok := strings.Cut(w.text, mark); ok && w.kind == known {
				spelled := strings.ReplaceAll(w.text, mark, "\x00")
				w = word{kind: single, prefix: before, suffix: after[strings.LastIndex(after, mark)+1:], template: spelled}
				if strings.Contains(after, mark) || values["J"] != "" {
					w = word{kind: unknownWords, template: spelled}
				}
			}
			words[i] = w
		}
	default:
		words = append(words, word{kind: unknownWords})
	}
	r.addWrapped(n, words, c)
}
