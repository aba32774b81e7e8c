package rules

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// fileChangers are the programs that change the files in their operands. The functions return the
// operands that name these files.
var fileChangers = map[string]func(operands []word) []word{
	"tee": allOperands, "touch": allOperands, "truncate": allOperands, "sponge": allOperands, "mkdir": allOperands,
	"rm": allOperands, "rmdir": allOperands, "unlink": allOperands, "shred": allOperands, "mv": allOperands, "ln": allOperands, "dd": allOperands,
	"cp": lastOperand, "install": lastOperand, "rsync": lastOperand, "sed": allOperands,
}

// plainOptions are the options without a value of programs whose last operand is the target. With
// any other option, each operand may be the target.
var plainOptions = map[string]struct {
	letters string
	words   map[string]bool
}{
	"cp": {"abdfilnpPrRstuvHLTxZ", setOf("--archive", "--recursive", "--force", "--interactive", "--no-clobber", "--update", "--verbose",
		"--parents", "--preserve", "--link", "--symbolic-link", "--dereference", "--no-dereference", "--one-file-system", "--no-target-directory")},
	"install": {"bcCDpstvTZ", setOf("--compare", "--preserve-timestamps", "--strip", "--verbose", "--no-target-directory")},
	"rsync": {"abcghiklmnopqrtuvxzACDEGHIKLNOPRSUWXZ", setOf("--archive", "--recursive", "--verbose", "--delete", "--dry-run", "--progress", "--compress",
		"--update", "--times", "--perms", "--links", "--stats", "--partial", "--checksum", "--human-readable", "--relative")},
}

// hasNoValue reports whether an option of a program takes no value.
func hasNoValue(program, option string) bool {
	plain := plainOptions[program]
	if strings.HasPrefix(option, "--") {
		return option == "--" || plain.words[option]
	}
	return strings.Trim(option[1:], plain.letters) == ""
}

// targetDirPrograms are the programs whose option -t names the folder that they write.
var targetDirPrograms = setOf("cp", "install", "ln", "mv")

func allOperands(operands []word) []word { return operands }

func lastOperand(operands []word) []word { return operands[max(0, len(operands)-1):] }

// recordChanges records the files that a command changes, and the folders that it changes to.
func (r *reader) recordChanges(n *node) {
	name := n.words[0].key()
	moves := name == "cd" || name == "pushd" || name == "chdir"
	files, ok := fileChangers[name]
	switch n.words[0].kind {
	case known:
	case expanded: // a glob names the program
		files, ok, moves = allOperands, true, false
	default:
		return
	}
	if !ok && !moves {
		return
	}
	var operands, values []word
	all := false // every operand may be a target
	words := n.words[1:]
	inPlace := name != "sed"
	if !inPlace {
		words = sedFiles(words)
	}
	for i, w := range words {
		option, value, found := strings.Cut(w.text, "=")
		switch {
		case w.kind != known:
			operands = append(operands, w)
			values = append(values, unknownValues(w)...)
			all, inPlace = all || w.mayBeOption(), inPlace || w.mayBeOption()
		case strings.HasPrefix(w.text, "-"):
			short := !strings.HasPrefix(w.text, "--")
			inPlace = inPlace || strings.HasPrefix(w.text, "--in-place") || short && strings.Contains(w.text, "i")
			if found {
				values = append(values, literal(value))
			}
			if name == "sed" && short {
				if _, suffix, _ := strings.Cut(w.text, "i"); strings.Contains(suffix, "/") { // the folder of the backup
					values = append(values, word{kind: expanded, template: strings.ReplaceAll(suffix, "*", "\x00")})
				}
			}
			all = all || !hasNoValue(name, w.text)
			if _, folder, to := strings.Cut(w.text, "t"); !to || !short || !targetDirPrograms[name] {
			} else if folder != "" {
				values = append(values, literal(folder))
			} else if i+1 < len(words) {
				values = append(values, words[i+1])
			}
			if name == "ln" && (short && strings.Contains(w.text, "s") || strings.HasPrefix(w.text, "--s")) {
				values = append(values, linkTargets(words)...)
			}
		case found && name == "dd" && option != "of":
		case found && name == "dd":
			operands = append(operands, literal(value))
		default:
			operands = append(operands, w)
		}
	}
	if moves {
		seen := make(map[string]bool)
		for _, w := range operands {
			if w.kind != known || !seen[w.text] { // one cd enters at most one of its operands
				r.enterWord(w)
			}
			seen[w.text] = true
		}
		if len(operands) == 0 && r.line.home != "" {
			r.line.enter(r.line.home)
		}
		return
	}
	if inPlace {
		if !all {
			operands = files(operands)
		}
		r.line.operands = append(append(r.line.operands, operands...), values...)
	}
	if len(r.line.operands) > maxOperands {
		r.line.operands, r.line.tooLong = r.line.operands[:maxOperands], true
	}
}

// unknownValues returns the values that a word with unknown parts may give an option, or an operand
// such as of=FILE.
func unknownValues(w word) (values []word) {
	texts := w.alternatives()
	if texts == nil {
		texts = []string{w.template}
	}
	add := func(text string) {
		if strings.Contains(text, "\x00") {
			values = append(values, word{kind: expanded, template: text})
		} else {
			values = append(values, literal(text))
		}
	}
	for _, text := range texts {
		if _, value, found := strings.Cut(text, "="); found {
			add(value)
		}
		if len(text) > 2 && text[0] == '-' && text[1] != '-' {
			add(text[2:])
			if _, folder, found := strings.Cut(text[2:], "t"); found { // -rtFOLDER
				add(folder)
			}
		}
	}
	return values
}

// linkTargets returns the operands of ln -s in any folder, because the target of a link is relative
// to the folder of the link.
func linkTargets(words []word) (targets []word) {
	for _, w := range words {
		if w.kind == known && !w.mayBeOption() && !path.IsAbs(w.text) {
			targets = append(targets, literal("*/"+w.text))
		}
	}
	return targets
}

// sedFiles returns the words of sed except its scripts. Scripts are the values of -e and -f, or
// else the first operand. If a word may be any option, sedFiles returns all words.
//
// Some versions of sed take options behind an operand for files, so sedFiles returns the values of
// these options, too.
func sedFiles(words []word) []word {
	var files []word
	first, given, ended := -1, false, false
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w.kind == unknownWords, w.kind == expanded, w.kind != known && w.mayBeOption():
			return words
		case ended, !w.mayBeOption(), w.text == "-":
			if first < 0 {
				first = len(files)
			}
			files = append(files, w)
		case w.text == "--":
			ended = true
		default:
			gives, glued, ok := sedScript(w.text)
			switch {
			case !ok:
				return words
			case !gives:
				files = append(files, w)
				continue
			}
			if given = true; !glued && first < 0 {
				i++
			}
		}
	}
	if first >= 0 && !given {
		files = slices.Delete(files, first, first+1)
	}
	return files
}

// sedScript reports whether an option of sed gives a script, and whether the script is in the same
// word. ok is false for an unknown option.
func sedScript(option string) (gives, glued, ok bool) {
	if strings.HasPrefix(option, "--") {
		name, _, joined := strings.Cut(option, "=")
		return strings.HasPrefix("--expression", name) || strings.HasPrefix("--file", name), joined, true
	}
	for i, letter := range option[1:] {
		switch {
		case strings.ContainsRune("nErsuzb", letter):
		case letter == 'i':
			return false, false, true // the rest is a suffix
		case letter == 'e', letter == 'f':
			return true, i+2 < len(option), true
		default:
			return false, false, false
		}
	}
	return false, false, true
}

// folderOptions are the options by which wrappers run a command in another folder.
var folderOptions = []string{"--chdir", "--cwd", "--wd", "--workdir", "--working-directory", "--directory", "--base-directory"}

// enterOptions records the folders that the options of a wrapper may name.
func (r *reader) enterOptions(words []word) {
	for i, w := range words {
		if !w.mayBeOption() {
			continue
		}
		folder, at := "", -1
		switch name, value, joined := strings.Cut(w.text, "="); {
		case w.kind != known:
			r.line.enter("*")
		case !strings.HasPrefix(w.text, "--"):
			if at = strings.IndexAny(w.text, "CD"); at >= 0 {
				folder = w.text[at+1:]
			}
		case slices.ContainsFunc(folderOptions, func(full string) bool { return strings.HasPrefix(full, name) }):
			if at = 0; joined {
				folder = value
			}
		}
		switch {
		case at < 0:
		case folder != "":
			r.line.enter(folder)
		case i+1 < len(words):
			r.enterWord(words[i+1])
		}
	}
}

// enterWord records the folders that a word may name.
func (r *reader) enterWord(w word) {
	switch {
	case w.kind == known:
		r.line.enter(w.text)
	case w.underHome && r.line.home != "":
		r.line.enter(r.line.home + w.suffix)
	case w.isUnexpanded():
		r.line.tooLong = true
	case w.alternatives() != nil:
		for _, one := range w.alternatives() {
			r.line.enter(strings.ReplaceAll(one, "\x00", "*"))
		}
	case w.template == "":
		r.line.enter("*")
	default:
		r.line.enter(strings.ReplaceAll(w.template, "\x00", "*"))
	}
}

// enter records a folder that the line changes to.
func (l *line) enter(folder string) {
	switch {
	case folder == "*" && slices.Contains(l.folders, folder): // any folder, already
	case len(l.folders) == maxAccesses:
		l.tooLong = true
	default:
		l.folders = append(l.folders, filepath.ToSlash(folder))
	}
}
