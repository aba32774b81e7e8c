package rules

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// ChangedFile is a file that a command line changes, as far as the line spells its path.
type ChangedFile struct {
	// Path is absolute if Dirs has the folder that it starts from. Of a computed path it is one literal
	// part: the beginning, or, behind an asterisk, a later one.
	Path string
	// Whole reports that Path is the whole path, and the folder that it starts from is known.
	Whole bool
	// Computed reports that a part of the path is only known when the line runs.
	Computed bool
}

// ChangedFiles returns the files that a command line changes by name: the targets of its redirections,
// and the operands of the programs in changers, in the folder that the line changes to. Of a computed
// name it returns the literal parts. A file that another program changes is not among them, nor one
// whose name is computed as a whole. Of a line that can't be parsed it also returns each word, as a part of a
// name. If the line is longer, or names more, than is looked at, tooLong is true: it may change any file.
func ChangedFiles(command, shell string, dirs Dirs) (changed []ChangedFile, tooLong bool) {
	r := reader{line: newLine(dirs)}
	r.text(command, context{shell: dialectOf(shell)})
	unquoted := unquote.Replace(command)
	c := changedFiles{
		folders: r.line.places(filepath.ToSlash(dirs.Cwd), strings.Contains(strings.ToUpper(unquoted), "CDPATH")),
		moved:   r.line.moved,
		home:    filepath.ToSlash(dirs.Home),
	}
	tooLong = r.line.tooLong
	add := func(w word) {
		if tooLong = tooLong || w.isUnexpanded() || len(c.files)+len(w.alternatives()) > maxOperands; !tooLong {
			c.add(w)
			tooLong = len(c.files) > maxOperands
		}
	}
	for _, w := range r.line.writes {
		if !w.read {
			add(w.target)
		}
	}
	for _, w := range r.line.operands {
		add(w)
	}
	if r.line.partial {
		seen := make(map[string]bool)
		for _, line := range []string{command, unquoted} {
			for text := range strings.FieldsFuncSeq(line, delimits) {
				if !seen[text] {
					seen[text] = true
					c.files = append(c.files, ChangedFile{Path: "*/" + text, Computed: true})
				}
			}
		}
	}
	return c.files, tooLong
}

// unquote takes out the characters that quote others, whatever they mean where they are.
var unquote = strings.NewReplacer("\\\n", "", "\\", "", "'", "", `"`, "")

// delimits reports whether a character ends a word for some shell.
func delimits(c rune) bool {
	return unicode.IsSpace(c) || strings.ContainsRune("\\'\"`$(){};&|<>=,~^", c)
}

// changedFiles collects the files that a command line changes.
type changedFiles struct {
	files   []ChangedFile
	folders []string // that the line may be in
	moved   bool     // the line changes its folder
	home    string
}

// add adds the files that a word may name.
func (c *changedFiles) add(w word) {
	switch {
	case w.home && c.home != "":
		c.files = append(c.files, ChangedFile{Path: path.Join(c.home, w.suf), Whole: true})
		return
	case w.kind == known && w.text != "":
		c.addName(w.text, true)
		return
	}
	if list := w.alternatives(); list != nil {
		for _, one := range list {
			if len(c.files) <= maxOperands {
				c.addSpelled(one, true)
			}
		}
		return
	}
	c.addSpelled(w.spelled, w.kind == each)
}

// addSpelled adds the files that a text with NUL for its unknown parts may name. Those of a glob have no
// slash.
func (c *changedFiles) addSpelled(text string, glob bool) {
	parts := strings.Split(text, "\x00")
	if len(parts) == 1 {
		if text != "" {
			c.addName(text, true)
		}
		return
	}
	if glob && strings.Trim(text, "\x00") != "" {
		c.addName(strings.ReplaceAll(text, "\x00", "*"), false)
	}
	if all := strings.Join(parts, ""); all != parts[0] {
		c.addName(all, false) // the computed parts may be empty
	}
	for i, part := range parts {
		switch {
		case part == "":
		case i == 0:
			c.addName(part, false)
		default:
			c.files = append(c.files, ChangedFile{Path: "*" + part, Computed: true})
		}
	}
}

// addName adds the file of that name in each folder that the line may be in. A change of folder may
// apply to a part of the line only.
func (c *changedFiles) addName(name string, whole bool) {
	name = filepath.ToSlash(name)
	if path.IsAbs(name) {
		c.files = append(c.files, ChangedFile{name, whole, !whole})
		return
	}
	// Not cleaned: a folder in front of ".." may be a link.
	for _, folder := range c.folders {
		if folder == "" {
			c.files = append(c.files, ChangedFile{Path: name, Computed: !whole})
		} else {
			c.files = append(c.files, ChangedFile{folder + "/" + name, whole && !c.moved, !whole})
		}
	}
}

// maxFolders bounds the folders of a line whose order counts.
const maxFolders = 8

// places returns the folders that a line may be in: the one in which it starts, and those to which any
// consecutive changes of folder lead. Where there are more than maxFolders changes, or the line speaks of
// CDPATH, it returns each folder as a part of a path.
func (l *line) places(cwd string, cdpath bool) []string {
	places := []string{cwd}
	add := func(at string) {
		if !slices.Contains(places, at) {
			places = append(places, at)
		}
	}
	if cdpath || len(l.folders) > maxFolders {
		for _, folder := range l.folders {
			add("*/" + folder)
		}
	}
	if len(l.folders) > maxFolders {
		return places
	}
	for i := range l.folders {
		at := cwd
		for _, folder := range l.folders[i:] {
			if at = at + "/" + folder; path.IsAbs(folder) || cwd == "" && at == "/"+folder {
				at = folder
			}
			add(at)
		}
	}
	return places
}

// changers are the programs that change the files they are given. The function returns the operands that
// name these files.
var changers = map[string]func(operands []word) []word{
	"tee": allOperands, "touch": allOperands, "truncate": allOperands, "sponge": allOperands, "mkdir": allOperands,
	"rm": allOperands, "rmdir": allOperands, "unlink": allOperands, "shred": allOperands, "mv": allOperands, "ln": allOperands, "dd": allOperands,
	"cp": lastOperand, "install": lastOperand, "rsync": lastOperand, "sed": allOperands,
}

// plainOptions are the options without a value of the programs whose last operand is the target. Beside
// another option every operand may be the target.
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

// isPlain reports whether an option of a program has no value.
func isPlain(program, option string) bool {
	plain := plainOptions[program]
	if strings.HasPrefix(option, "--") {
		return option == "--" || plain.words[option]
	}
	return strings.Trim(option[1:], plain.letters) == ""
}

// targeting are the programs to which -t names the folder that they write.
var targeting = setOf("cp", "install", "ln", "mv")

func allOperands(operands []word) []word { return operands }

func lastOperand(operands []word) []word { return operands[max(0, len(operands)-1):] }

// change records the files that a command changes, and the folder that it changes to.
func (r *reader) change(n *node) {
	name := n.words[0].key()
	moves := name == "cd" || name == "pushd" || name == "chdir"
	files, ok := changers[name]
	switch n.words[0].kind {
	case known:
	case each: // a program is named by a glob
		files, ok, moves = allOperands, true, false
	default:
		return
	}
	if !ok && !moves {
		return
	}
	var operands, values []word
	all := false // of the operands may be targets
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
			all, inPlace = all || w.option(), inPlace || w.option()
		case strings.HasPrefix(w.text, "-"):
			short := !strings.HasPrefix(w.text, "--")
			inPlace = inPlace || strings.HasPrefix(w.text, "--in-place") || short && strings.Contains(w.text, "i")
			if found {
				values = append(values, literal(value))
			}
			if name == "sed" && short {
				if _, suffix, _ := strings.Cut(w.text, "i"); strings.Contains(suffix, "/") { // the folder of the copy
					values = append(values, word{kind: each, spelled: strings.ReplaceAll(suffix, "*", "\x00")})
				}
			}
			all = all || !isPlain(name, w.text)
			if _, folder, to := strings.Cut(w.text, "t"); !to || !short || !targeting[name] {
			} else if folder != "" {
				values = append(values, literal(folder))
			} else if i+1 < len(words) {
				values = append(values, words[i+1])
			}
			if name == "ln" && (short && strings.Contains(w.text, "s") || strings.HasPrefix(w.text, "--s")) {
				values = append(values, linked(words)...)
			}
		case found && name == "dd" && option != "of":
		case found && name == "dd":
			operands = append(operands, literal(value))
		default:
			operands = append(operands, w)
		}
	}
	if moves {
		for _, w := range operands {
			r.enterWord(w)
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

// unknownValues returns the values that a word with unknown parts may give an option, or an operand such as
// of=FILE.
func unknownValues(w word) (values []word) {
	texts := w.alternatives()
	if texts == nil {
		texts = []string{w.spelled}
	}
	add := func(text string) {
		if strings.Contains(text, "\x00") {
			values = append(values, word{kind: each, spelled: text})
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

// linked returns the operands of ln -s as seen from any folder: the target of a link is relative to the
// folder of the link.
func linked(words []word) (targets []word) {
	for _, w := range words {
		if w.kind == known && !w.option() && !path.IsAbs(w.text) {
			targets = append(targets, literal("*/"+w.text))
		}
	}
	return targets
}

// sedFiles returns the words of sed but for its scripts: the values of -e and -f, or the first operand where
// neither is given. Where a word may be any option, it returns all words.
//
// A sed that does not permute its words takes options behind an operand for files, so that the values of these
// are returned, too.
func sedFiles(words []word) []word {
	var files []word
	first, given, ended := -1, false, false
	for i := 0; i < len(words); i++ {
		w := words[i]
		switch {
		case w.kind == many, w.kind == each, w.kind != known && w.option():
			return words
		case ended, !w.option(), w.text == "-":
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

// sedScript reports whether an option of sed gives a script, and whether the script is in the same word. ok is
// false for an option that is not known.
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

// folderOptions are options by which wrappers run a command in another folder.
var folderOptions = []string{"--chdir", "--cwd", "--wd", "--workdir", "--working-directory", "--directory", "--base-directory"}

// enterOptions records the folders that the options of a wrapper may name.
func (r *reader) enterOptions(words []word) {
	for i, w := range words {
		if !w.option() {
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
	case w.isUnexpanded():
		r.line.tooLong = true
	case w.alternatives() != nil:
		for _, one := range w.alternatives() {
			r.line.enter(strings.ReplaceAll(one, "\x00", "*"))
		}
	case w.spelled == "":
		r.line.enter("*")
	default:
		r.line.enter(strings.ReplaceAll(w.spelled, "\x00", "*"))
	}
}

// enter records a folder that the line changes to, once: the reader may read a line several times.
func (l *line) enter(folder string) {
	folder = filepath.ToSlash(folder)
	switch {
	case slices.Contains(l.folders, folder):
	case len(l.folders) == maxWrite:
		l.tooLong = true
	default:
		l.folders = append(l.folders, folder)
	}
}
