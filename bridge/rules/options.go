package rules

import (
	"slices"
	"strings"
)

// commandOptions are the options of programs whose value is a command, as a text for a shell or as
// its words. Long options may be abbreviated.
var commandOptions = map[string][]string{
	"tar":       {"--checkpoint-action", "--to-command", "--use-compress-program", "--info-script", "--new-volume-script", "--rsh-command", "-I", "-F"},
	"gtar":      {"--checkpoint-action", "--to-command", "--use-compress-program", "--info-script", "--new-volume-script", "--rsh-command", "-I", "-F"},
	"bsdtar":    {"--use-compress-program"},
	"cpio":      {"--rsh-command"},
	"split":     {"--filter"},
	"gsplit":    {"--filter"},
	"sort":      {"--compress-program"},
	"gsort":     {"--compress-program"},
	"rsync":     {"--rsh", "-e"},
	"ssh":       {"-oproxycommand", "-olocalcommand", "-oknownhostscommand"},
	"scp":       {"-oproxycommand", "-S"},
	"sftp":      {"-oproxycommand", "-S"},
	"rg":        {"--pre", "--hostname-bin"},
	"fzf":       {"--preview"},
	"man":       {"--pager", "-P"},
	"bat":       {"--pager"},
	"zip":       {"--unzip-command", "-TT"},
	"nix-shell": {"--run", "--command"},
	"nodemon":   {"--exec", "-x"},
}

// handleCommandOptions handles programs that run the values of options.
func handleCommandOptions(r *reader, n *node, c readContext) {
	key := n.words[0].key()
	if len(n.words) > 1 && (key == "tar" || key == "gtar") && !n.words[1].mayBeOption() && strings.ContainsAny(n.words[1].text, "IF") {
		r.addOpaque(n, unknownText) // tar cIf COMMAND FILE, in the order of the letters
	}
	r.addOptionCommands(n, c, commandOptions[key])
}

// addOptionCommands adds the commands in the values of the options.
func (r *reader) addOptionCommands(n *node, c readContext, options []string) {
	for i := 1; i < len(n.words); i++ {
		w := &n.words[i]
		begin := w.knownPrefix()
		if begin == "-o" && i+1 < len(n.words) { // ssh -o ProxyCommand=…
			begin += n.words[i+1].knownPrefix()
		}
		for _, option := range options {
			value, joined, ok := optionValue(begin, option)
			switch {
			case !ok:
			case w.kind != known || joined && strings.HasPrefix(begin, "-o") && w.text == "-o" && n.words[i+1].kind != known:
				r.addOpaque(n, unknownText)
			case joined:
				r.addCommandText(n, literal(value), c)
			case i+1 < len(n.words):
				r.addCommandText(n, n.words[i+1], c)
			}
		}
	}
}

// optionValue returns the value that a word gives to an option. joined is false if the value is the
// next word.
func optionValue(text, option string) (value string, joined, ok bool) {
	name, value, joined := strings.Cut(text, "=")
	if i := strings.IndexByte(text, ' '); i > 0 && i < len(name) && strings.HasPrefix(option, "-o") { // ssh -o 'ProxyCommand …'
		name, value, joined = text[:i], text[i+1:], true
	}
	if strings.HasPrefix(option, "--") || strings.HasPrefix(option, "-o") {
		return value, joined, len(name) > len("--") && strings.HasPrefix(option, strings.ToLower(name)) && (joined || option[1] == '-')
	}
	if value, joined = strings.CutPrefix(text, option); joined {
		return value, value != "", true
	}
	// The option may follow others in one word, as in tar -xI. A value in the same word counts only if
	// it has a space: the letter may also be part of another option's value.
	if len(option) != 2 || len(text) < 2 || text[0] != '-' || text[1] == '-' {
		return "", false, false
	}
	if strings.HasSuffix(text, option[1:]) {
		return "", false, true
	}
	_, value, ok = strings.Cut(text, option[1:])
	return value, true, ok && strings.Contains(value, " ")
}

// addCommandText adds the command in a text, such as the value of an option. Behind exec=, as in tar,
// or an exclamation mark, as in git, starts the text.
func (r *reader) addCommandText(n *node, w word, c readContext) {
	switch {
	case w.kind == known && w.text == "":
	case w.kind == known:
		text := strings.TrimPrefix(strings.TrimPrefix(w.text, "exec="), "!")
		n.add(r.readText(text, c.deeper())...)
	case strings.Contains(w.prefix, " "): // the command is known, its arguments are not
		var words []word
		for _, text := range strings.Fields(w.prefix[:strings.LastIndex(w.prefix, " ")]) {
			words = append(words, literal(text))
		}
		n.add(r.readCommand(append(words, word{kind: unknownWords}), nil, c.deeper()))
	default:
		r.addOpaque(n, unknownText)
	}
}

// commandVariables are the variables whose value common programs run.
var commandVariables = setOf(
	"GIT_SSH", "GIT_SSH_COMMAND", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND",
	"PAGER", "MANPAGER", "EDITOR", "VISUAL", "BROWSER", "RSYNC_RSH", "LESSOPEN", "LESSCLOSE", "FZF_DEFAULT_COMMAND",
)

// readCommandVariable adds the command in the value of a variable to n, which sets the variable.
func (r *reader) readCommandVariable(n *node, a assignment, c readContext) {
	value := a.word
	switch {
	case strings.HasPrefix(a.name, "GIT_CONFIG_KEY_") || a.name == "GIT_CONFIG_PARAMETERS":
		key := strings.ToLower(value.knownPrefix())
		if value.kind != known || strings.Contains(key, aliasKey) || isGitCommandKey(key) || a.name == "GIT_CONFIG_PARAMETERS" {
			r.addOpaque(n, "the configuration of git may name any command")
		}
	case !commandVariables[a.name]:
	case value.kind == known:
		_, text, _ := strings.Cut(value.text, "=")
		r.addCommandText(n, literal(text), c)
	default:
		_, value.prefix, _ = strings.Cut(value.prefix, "=")
		r.addCommandText(n, value, c)
	}
}

// gitCommandKeys are the last parts of the keys in the configuration of git whose value is a
// command.
var gitCommandKeys = setOf("pager", "editor", "sshcommand", "askpass", "fsmonitor", "external", "textconv", "helper", "program", "clean", "smudge", "process",
	"driver", "cmd", "command", "gitproxy", "packobjectshook")

// isGitCommandKey reports whether the value of a key, or of NAME=KEY, is a command for git.
func isGitCommandKey(key string) bool {
	return gitCommandKeys[key[strings.LastIndexByte(key, '.')+1:]] || strings.HasPrefix(key, "pager.") || strings.Contains(key, "=pager.")
}

// addGitConfig adds the command in KEY=VALUE of git -c.
func (r *reader) addGitConfig(n *node, w word, c readContext) {
	key, value, ok := strings.Cut(w.knownPrefix(), "=")
	key = strings.ToLower(key)
	if ok && isGitCommandKey(key) {
		if w.kind == known {
			w.text = value
		} else {
			w.prefix = value
		}
		r.addCommandText(n, w, c)
	}
}

// gitRunners are the options of git's subcommands whose value is a command.
var gitRunners = map[string][]string{
	"rebase": {"--exec", "-x"}, "difftool": {"--extcmd", "-x"}, "grep": {"--open-files-in-pager"},
	"fetch": {"--upload-pack"}, "pull": {"--upload-pack"}, "clone": {"--upload-pack", "-u"}, "ls-remote": {"--upload-pack", "--exec"}, "fetch-pack": {"--upload-pack", "--exec"},
	"push": {"--receive-pack", "--exec"}, "send-pack": {"--receive-pack", "--exec"}, "archive": {"--exec"},
	"filter-branch": {"--env-filter", "--tree-filter", "--index-filter", "--parent-filter", "--msg-filter", "--commit-filter", "--tag-name-filter", "--setup"},
}

// addGitCommands adds the commands that git's subcommands run.
func (r *reader) addGitCommands(n *node, c readContext) {
	for i := 1; i < len(n.words); i++ {
		rest := n.words[i+1:]
		at := func(text string) int { return slices.IndexFunc(rest, func(w word) bool { return w.text == text }) }
		switch name := n.words[i].text; {
		case gitRunners[name] != nil:
			part := &node{words: n.words[i:]}
			r.addOptionCommands(part, c, gitRunners[name])
			n.add(part.children...)
		case name == "bisect" && at("run") >= 0:
			n.add(r.readCommand(rest[at("run")+1:], nil, c.deeper()))
		case name == "submodule" && at("foreach") >= 0:
			words := rest[at("foreach")+1:]
			for len(words) > 0 && words[0].mayBeOption() && words[0].kind == known {
				words = words[1:]
			}
			if len(words) == 1 {
				r.addCommandText(n, words[0], c)
			} else if len(words) > 1 {
				n.add(r.readCommand(words, nil, c.deeper()))
			}
		case name == "for-each-repo":
			n.add(r.readCommand(append([]word{literal("git")}, rest...), nil, c.deeper()))
		}
	}
}

// handleDashedGit handles git-push, which is git push.
func handleDashedGit(r *reader, n *node, c readContext) {
	words := append([]word{literal("git"), literal(strings.TrimPrefix(n.words[0].key(), "git-"))}, n.words[1:]...)
	n.add(r.readCommand(words, nil, c.deeper()))
}
