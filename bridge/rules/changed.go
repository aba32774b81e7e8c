package rules

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ChangedFile is a file that a command line changes, as far as the line spells its path.
type ChangedFile struct {
	// Path is absolute where Dirs says from which folder. Of one that is computed it is a part: the
	// beginning, or what follows behind an asterisk.
	Path string
	// Whole reports that Path is the whole path, and the folder that it starts from is known.
	Whole bool
	// Computed reports that a part of the path is only known when the line runs.
	Computed bool
}

// ChangedFiles returns the files that a command line changes by name: the targets of its redirections,
// and the operands of the programs in changers, in the folder that the line changes to. A file that
// another program changes, or whose name is computed, is not among them.
func ChangedFiles(command, shell string, dirs Dirs) []ChangedFile {
	r := reader{line: newLine(dirs)}
	r.text(command, context{shell: dialectOf(shell)})
	var files []ChangedFile
	for _, w := range r.line.writes {
		if !w.read {
			files = r.line.changed(files, w.target, dirs)
		}
	}
	for _, w := range r.line.operands {
		files = r.line.changed(files, w, dirs)
	}
	return files
}

// changed adds the file that a word names.
func (l *line) changed(files []ChangedFile, w word, dirs Dirs) []ChangedFile {
	switch {
	case w.home && dirs.Home != "":
		return append(files, ChangedFile{Path: path.Join(filepath.ToSlash(dirs.Home), w.suf), Whole: true})
	case w.kind == known && w.text != "":
		return l.from(files, w.text, dirs, true)
	}
	parts := strings.Split(w.spelled, "\x00")
	if all := strings.Join(parts, ""); all != parts[0] {
		files = l.from(files, all, dirs, false) // what is not known may be nothing
	}
	for i, part := range parts {
		switch {
		case part == "":
		case i == 0:
			files = l.from(files, part, dirs, false)
		default:
			files = append(files, ChangedFile{Path: "*" + part, Computed: true})
		}
	}
	return files
}

// from adds the file of that name in each folder that the line may be in there: what it changes to may
// hold for a part of the line only.
func (l *line) from(files []ChangedFile, name string, dirs Dirs, whole bool) []ChangedFile {
	name = filepath.ToSlash(name)
	if path.IsAbs(name) {
		return append(files, ChangedFile{name, whole, !whole})
	}
	// The cleaned path would lose a folder that is left by "..", which may be a link.
	for _, at := range l.places(filepath.ToSlash(dirs.Cwd)) {
		if at == "" {
			files = append(files, ChangedFile{Path: name, Computed: !whole})
		} else {
			files = append(files, ChangedFile{at + "/" + name, whole && len(l.folders) == 0 && !l.moved, !whole})
		}
	}
	return files
}

// maxFolders bounds the folders of a line whose order counts.
const maxFolders = 8

// places are the folders that a line may be in: that where it starts, and where some of its changes of
// folder that follow each other lead. Of too many it is not known where they start.
func (l *line) places(cwd string) []string {
	if l.at != nil {
		return l.at
	}
	l.at = []string{cwd}
	add := func(at string) {
		if !slices.Contains(l.at, at) {
			l.at = append(l.at, at)
		}
	}
	if len(l.folders) > maxFolders {
		for _, folder := range l.folders {
			add("*/" + folder)
		}
		return l.at
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
	return l.at
}

// changers are the programs that change files which they are given, and which of their operands these
// are.
var changers = map[string]func(operands []word) []word{
	"tee": allOperands, "touch": allOperands, "truncate": allOperands, "sponge": allOperands, "mkdir": allOperands,
	"rm": allOperands, "rmdir": allOperands, "unlink": allOperands, "shred": allOperands, "mv": allOperands, "ln": allOperands, "dd": allOperands,
	"cp": lastOperand, "install": lastOperand, "rsync": lastOperand, "sed": lastOperand,
}

func allOperands(operands []word) []word { return operands }

func lastOperand(operands []word) []word { return operands[max(0, len(operands)-1):] }

// change notes the files that a command changes, and the folder that it changes to.
func (r *reader) change(n *node) {
	if n.words[0].kind != known {
		return
	}
	name := n.words[0].key()
	moves := name == "cd" || name == "pushd" || name == "chdir"
	files, ok := changers[name]
	if !ok && !moves || len(r.line.operands) > maxWrite {
		return
	}
	var operands, values []word
	inPlace := name != "sed"
	for _, w := range n.words[1:] {
		option, value, found := strings.Cut(w.text, "=")
		switch {
		case w.kind != known:
			operands = append(operands, w)
		case strings.HasPrefix(w.text, "-"):
			inPlace = inPlace || strings.HasPrefix(w.text, "--in-place") || !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "i")
			if found {
				values = append(values, literal(value))
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
			if w.kind == known {
				r.line.enter(w.text)
			} else {
				r.line.enter(strings.ReplaceAll(w.spelled, "\x00", "*"))
			}
		}
		return
	}
	if inPlace {
		r.line.operands = append(append(r.line.operands, files(operands)...), values...)
	}
}

// enter notes a folder that the line changes to. A line that is read as several shells do enters it once.
func (l *line) enter(folder string) {
	for _, known := range l.folders {
		if known == folder {
			return
		}
	}
	if len(l.folders) < maxWrite {
		l.folders = append(l.folders, filepath.ToSlash(folder))
	}
}
