package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// maxFile is more than any configuration needs, and small enough that a
// hostile workspace file costs nothing.
const maxFile = 256 * KiB

// source is one file as it was read.
type source struct {
	layer Layer
	file  string // as given
	text  string
	err   *Error // why it could not be read
}

// readAll reads the files of opts. A file that is not there is no layer,
// unless the user named it.
func readAll(opts Options) []source {
	var list []source
	add := func(layer Layer, file string, required bool) {
		if file == "" {
			return
		}
		text, err := readFile(file, layer != Workspace)
		var foreign *untrustedError
		switch {
		case err == nil:
			list = append(list, source{layer: layer, file: file, text: text})
		case errors.Is(err, fs.ErrNotExist) && !required:
		case errors.Is(err, fs.ErrNotExist):
			list = append(list, source{layer: layer, file: file, err: &Error{File: file,
				Message: "no such file", Mend: "create it, or unset " + EnvConfig}})
		case errors.As(err, &foreign):
			list = append(list, source{layer: layer, file: file, err: &Error{File: file,
				Message: "is not trusted: " + foreign.reason, Mend: foreign.mend}})
		default:
			list = append(list, source{layer: layer, file: file, err: &Error{File: file,
				Message: "cannot be read: " + reason(err), Mend: mendOf(err)}})
		}
	}
	add(Managed, opts.Managed, false)
	add(User, opts.User, opts.UserRequired)
	if opts.Workspace != "" {
		for _, file := range WorkspaceFiles(opts.Workspace) {
			add(Workspace, file, false)
		}
	}
	return list
}

// readFile reads a file. One that is governing names the programs that are run, so that nobody
// else may write it; the workspace's may be anybody's, since it can only tighten.
func readFile(name string, governing bool) (string, error) {
	if link, err := os.Lstat(name); err == nil && !governing && link.Mode()&fs.ModeSymlink != 0 {
		return "", errLink
	}
	// Stat first: opening a named pipe would wait for ever.
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", errors.New("it is a folder")
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	if governing {
		if err := trusted(info); err != nil {
			return "", err
		}
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(maxFile)+1))
	if err != nil {
		return "", err
	}
	if Size(len(b)) > maxFile {
		return "", fmt.Errorf("it is larger than %v", maxFile)
	}
	return string(b), nil
}

// errLink is for a workspace's file that is a link. Codex can protect a link from commands
// neither where it is nor where it leads.
var errLink = errors.New("it is a symbolic link, which a command could replace")

// untrustedError is a file that somebody else could have written.
type untrustedError struct{ reason, mend string }

func (e *untrustedError) Error() string { return e.reason }

func mendOf(err error) string {
	if errors.Is(err, errLink) {
		return "put the file itself in its place"
	}
	return "fix it or remove it"
}

// reason is an error of the file system without the path, which is shown
// already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return err.Error()
}

// document is a parsed file: the values, and where they stand.
type document struct {
	source
	tree  map[string]any
	root  *node
	lines lines
}

// parse reads the TOML.
func parse(src source) (*document, *Error) {
	text := strings.TrimPrefix(src.text, "\ufeff")
	d := &document{source: src, lines: newLines(text)}
	fault := func(offset int, message, mend string) *Error {
		e := &Error{File: src.file, Message: message, Mend: mend}
		e.Line, e.Column = d.lines.place(max(0, min(offset, len(text)-1)))
		return e
	}
	if !utf8.ValidString(text) {
		at := 0
		for at < len(text) {
			r, n := utf8.DecodeRuneInString(text[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return nil, fault(at, "not UTF-8", "save the file as UTF-8")
	}
	root, at, lost := locate(text)
	if errors.Is(lost, errDepth) {
		return nil, fault(at, lost.Error(), "write it flatter")
	}
	d.root = root
	tree, err := decodeTOML(text)
	var pe toml.ParseError
	switch {
	case errors.As(err, &pe) && pe.Position.Len > 0:
		// The offset is right where the library's line is one too few, as at
		// the end of a file.
		return nil, fault(pe.Position.Start, lowerFirst(strings.TrimSuffix(pe.Message, ".")), "")
	case errors.As(err, &pe):
		return nil, &Error{File: src.file, Message: lowerFirst(pe.Message)}
	case err != nil:
		return nil, &Error{File: src.file, Message: err.Error()}
	case errors.Is(lost, errTwice):
		return nil, fault(at, lost.Error(), "keep one of them")
	case lost != nil:
		// The parser took what locate could not follow: without places there
		// can be no honest messages.
		return nil, fault(at, "cannot be followed", "write it in a simpler form")
	}
	d.tree = tree
	return d, nil
}

// decodeTOML is the library's decoder, whose internal faults are panics.
func decodeTOML(text string) (tree map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the TOML parser failed: %v", r)
		}
	}()
	_, err = toml.Decode(text, &tree)
	return tree, err
}

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if next, _ := utf8.DecodeRuneInString(s[n:]); unicode.IsUpper(next) {
		return s // an acronym
	}
	return string(unicode.ToLower(r)) + s[n:]
}
