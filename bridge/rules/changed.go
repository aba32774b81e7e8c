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
	// Path is absolute if Dirs has the folder that it starts from. If the path is computed, Path is
	// one literal part: its start, or an asterisk and a later part.
	Path string
	// Whole reports that Path is the whole path, and that the folder it starts from is known.
	Whole bool
	// Computed reports that a part of the path is known only when the line runs.
	Computed bool
}

// ChangedFiles returns the files that a command line changes by name: the targets of its
// redirections, and the operands of the programs in fileChangers, in each folder that the line may
// be in. For a computed name it returns the literal parts. If the line can't be parsed, it also
// returns each word as a part of a name.
//
// The result omits files that other programs change, and files whose whole name is computed.
// anyFile is true if the line may change any file: it is too long, names too many files, or applies
// a patch whose files are not all known.
func ChangedFiles(command, shell string, dirs Dirs) (changed []ChangedFile, anyFile bool) {
	l := readLine(command, shell, dirs)
	unquoted := unquote.Replace(command)
	folders, complete := l.possibleFolders(strings.Contains(strings.ToUpper(unquoted), "CDPATH"), dirs.Follow)
	c := changedFiles{
		folders:       folders,
		changesFolder: l.changesFolder,
		home:          filepath.ToSlash(dirs.Home),
		line:          l,
	}
	anyFile = l.tooLong
	add := func(w word) {
		if anyFile = anyFile || w.isUnexpanded(); !anyFile {
			c.add(w)
			anyFile = c.isFull()
		}
	}
	for _, w := range l.accesses {
		if w.read {
			c.reads = append(c.reads, w.target)
		}
	}
	for _, w := range l.accesses {
		if !w.read {
			add(w.target)
		}
	}
	for _, w := range l.operands {
		add(w)
	}
	if l.incomplete {
		seen := make(map[string]bool)
		for _, line := range []string{command, unquoted} {
			for text := range strings.FieldsFuncSeq(line, delimits) {
				if !seen[text] {
					seen[text] = true
					c.append(ChangedFile{Path: "*/" + text, Computed: true})
				}
			}
		}
	}
	return c.files, anyFile || c.bytes > maxFileBytes || l.changesAny || !complete && c.hasRelative
}

// unquote removes the characters that quote others, in any position.
var unquote = strings.NewReplacer("\\\n", "", "\\", "", "'", "", `"`, "")

// delimits reports whether a character ends a word in some shell.
func delimits(c rune) bool {
	return unicode.IsSpace(c) || strings.ContainsRune("\\'\"`$(){};&|<>=,~^", c)
}

// changedFiles collects the files that a command line changes.
type changedFiles struct {
	files         []ChangedFile
	folders       []string // folders that the line may be in
	changesFolder bool
	home          string
	line          *line
	bytes         int    // of the paths in files
	reads         []word // files that the line opens to read
	inDevice      bool   // addDevice adds files
	hasRelative   bool   // a file's name is relative
}

// add adds the files that a word may name.
func (c *changedFiles) add(w word) {
	switch {
	case w.underHome && c.home != "":
		c.append(ChangedFile{Path: path.Join(c.home, w.suffix), Whole: true})
		return
	case w.kind == known && w.text != "":
		c.addName(w.text, true)
		return
	}
	if list := w.alternatives(); list != nil {
		for _, one := range list {
			if !c.isFull() {
				c.addTemplate(one, true)
			}
		}
		return
	}
	c.addTemplate(w.template, w.kind == expanded)
}

// addTemplate adds the files that a word with a NUL for each unknown part may name. With glob, the
// unknown parts contain no slash.
func (c *changedFiles) addTemplate(text string, glob bool) {
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
			c.append(ChangedFile{Path: "*" + part, Computed: true})
		}
	}
}

// addName adds the file with that name in each folder that the line may be in. A change of folder
// may apply only to a part of the line.
func (c *changedFiles) addName(name string, whole bool) {
	name = filepath.ToSlash(name)
	if path.IsAbs(name) {
		c.addAbsolute(ChangedFile{name, whole, !whole})
		return
	}
	c.hasRelative = true
	// The path is not cleaned: a folder before ".." may be a link.
	for _, folder := range c.folders {
		if c.isFull() {
			return
		}
		if folder == "" {
			c.append(ChangedFile{Path: name, Computed: !whole})
		} else {
			c.addAbsolute(ChangedFile{strings.TrimSuffix(folder, "/") + "/" + name, whole && !c.changesFolder, !whole})
		}
	}
}

// append adds a file, unless all paths together are too long.
func (c *changedFiles) append(file ChangedFile) {
	if c.bytes += len(file.Path); c.bytes <= maxFileBytes {
		c.files = append(c.files, file)
	}
}

// isFull reports whether there are too many files.
func (c *changedFiles) isFull() bool { return len(c.files) > maxOperands || c.bytes > maxFileBytes }

// addAbsolute adds a file whose path starts with a folder.
func (c *changedFiles) addAbsolute(file ChangedFile) {
	if !file.Computed && !c.line.opensDescriptor && isOutput(file.Path) {
		return // the command's own output, which the line has not opened
	}
	if !file.Computed && c.line.isOtherFile(file.Path) {
		c.addDevice(file.Path)
		return
	}
	c.append(file)
}

const (
	maxFolders = 16  // changes of folder of a line whose order counts
	maxPlaces  = 512 // folders that a line may be in
	// maxFolderLen bounds the path of such a folder, and maxFileBytes the paths of all files in bytes.
	maxFolderLen = 8192
	maxFileBytes = 4 << 20
)

// possibleFolders returns the folders that a line may be in: its first folder, and the results of
// any consecutive changes of folder. A shell removes a name before "..", or follows it if it is a
// link (cd -P); the result has both. If follow is not nil, it resolves the links of a path.
//
// With CDPATH, or if there are too many folders, the result also has each folder as a part of a
// path. With too many, or one that can't be resolved, complete is false, and the result has an
// asterisk for any folder.
func (l *line) possibleFolders(cdpath bool, follow func(string) (string, error)) (places []string, complete bool) {
	places = []string{l.cwd}
	complete = len(l.folders) <= maxFolders
	add := func(list []string, at string) []string {
		if slices.Contains(list, at) {
			return list
		}
		return append(list, at)
	}
	if cdpath || !complete {
		for _, folder := range l.folders {
			places = add(places, "*/"+folder)
		}
	}
	if !complete {
		return append(places, "*"), false
	}
	for i := range l.folders {
		from := []string{l.cwd}
		for _, folder := range l.folders[i:] {
			var to []string
			for _, at := range from {
				lexical, physical, err := changeFolder(at, folder, follow)
				to = add(add(to, lexical), physical)
				complete = complete && err == nil
			}
			for _, at := range to {
				places = add(places, at)
			}
			tooLong := slices.ContainsFunc(to, func(at string) bool { return len(at) > maxFolderLen })
			if from = to; tooLong || len(places) > maxPlaces {
				return append(places, "*"), false
			}
		}
	}
	if !complete {
		places = append(places, "*")
	}
	return places, complete
}

// changeFolder returns the folder to which a shell changes from another one: with each ".." taken
// for the removal of a name, and with links followed. After an error it may be any folder.
func changeFolder(from, folder string, follow func(string) (string, error)) (lexical, physical string, err error) {
	to := folder
	if !path.IsAbs(folder) && from != "" {
		to = from + "/" + folder
	}
	lexical, physical = to, to
	if hasParent(to) {
		lexical = path.Clean(to)
	}
	if follow != nil && path.IsAbs(to) && !strings.Contains(to, "*") {
		if physical, err = follow(to); err != nil {
			physical = lexical
		}
	}
	return lexical, filepath.ToSlash(physical), err
}
