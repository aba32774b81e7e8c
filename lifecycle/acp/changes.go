package acp

import (
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

var (
	fileNames = []string{
		"path", "filepath", "file", "filename", "abspath", "absolutepath", "targetfile", "notebookpath", "oldpath", "newpath", "movepath", "source",
		"destination",
	}
	// startNames are the names of folders in which a tool starts. The others may also name the target of a change.
	startNames  = []string{"cwd", "workdir", "workingdir", "workingdirectory", "currentdir", "currentdirectory"}
	optionNames = []string{"overwrite", "force"}
	// textNames have the text of an edit, or say where in the file it belongs.
	textNames = []string{
		"content", "contents", "newcontent", "filetext", "text", "newtext", "oldtext", "newstr", "oldstr", "newstring", "oldstring", "newsource", "inserttext",
		"instruction", "insertline", "line", "startline", "endline", "offset", "limit", "replaceall", "allowmultiple", "expectedreplacements",
		"cellid", "celltype", "editmode", "modifiedbyuser", "aiproposedcontent",
	}
)

// change has what an input says of the files that a call changes.
type change struct {
	files  []string // "" for one in another form than a path
	unread []string // members that the bridge does not know, which may name further files
}

// readChange reads the input of a call that changes files. folder is where it runs. It passes over a command, which the
// bridge judges, too.
func readChange(raw any, kind *sdk.ToolKind, folder string) (c change) {
	in := readInput(raw)
	if in == nil && raw != nil {
		c.unread = append(c.unread, "rawInput")
	}
	if _, _, ok := in.command(); ok {
		in.remove(commandNames, argumentNames)
	}
	known := slices.Concat(startNames, harmlessNames, optionNames)
	if kind == nil || *kind != sdk.ToolKindMove && *kind != sdk.ToolKindDelete {
		known = append(known, textNames...)
		c.readParts(in, folder)
	}
	c.readMembers(in, folder, known)
	slices.Sort(c.files)
	slices.Sort(c.unread)
	c.unread = slices.Compact(c.unread)
	return c
}

// readMembers adds the files and the unknown members of an input. A known member has no others below it.
func (c *change) readMembers(in input, folder string, known []string) {
	for name, values := range in {
		for _, v := range values {
			text, isText := v.(string)
			_, isNumber := v.(float64)
			_, isBool := v.(bool)
			switch {
			case slices.Contains(fileNames, name):
				c.files = append(c.files, absolute(text, folder))
			case !slices.Contains(known, name) || !isText && !isNumber && !isBool:
				c.unread = append(c.unread, name)
			}
		}
	}
}

// readParts adds and removes the members that have parts of an edit: a list of texts to replace, and the changes of a
// patch by file, as Codex states them.
func (c *change) readParts(in input, folder string) {
	for _, v := range in["edits"] {
		list, isList := v.([]any)
		if !isList {
			c.unread = append(c.unread, "edits")
		}
		for _, one := range list {
			c.readPart(one, folder, "edits", textNames)
		}
	}
	for _, v := range in["changes"] {
		byFile, isObject := v.(map[string]any)
		if !isObject {
			c.unread = append(c.unread, "changes")
		}
		for name, one := range byFile {
			c.files = append(c.files, absolute(name, folder))
			c.readPart(one, folder, "changes", []string{"type", "content", "unifieddiff"})
		}
	}
	in.remove([]string{"edits", "changes"})
}

func (c *change) readPart(one any, folder, name string, known []string) {
	part := readInput(one)
	if part == nil {
		c.unread = append(c.unread, name)
	}
	c.readMembers(part, folder, known)
}

// otherForm matches a relative path that an agent may read in another way: from a home folder or a variable on, as an
// address, or with a drive.
var otherForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[~$%-]|^[A-Za-z][A-Za-z0-9+.-]*:`) })

// absolute returns a path from a folder on; "" if one of them is unknown. It does not shorten "..", which may be
// behind a link.
func absolute(name, folder string) string {
	switch {
	case filepath.IsAbs(name):
		return name
	case name == "" || folder == "" || otherForm().MatchString(name) || runtime.GOOS != "windows" && strings.Contains(name, `\`):
		return ""
	}
	return folder + string(filepath.Separator) + name
}
