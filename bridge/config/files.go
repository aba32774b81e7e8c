package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"codex-bridge.example/bridge/setting"
)

// EnvConfig names the user's configuration file. An empty value means no file.
const EnvConfig = "CODEX_BRIDGE_CONFIG"

// WorkspaceFile is the name of a workspace's configuration.
const WorkspaceFile = ".codex-bridge.toml"

// maxFile is the maximum size of a file.
const maxFile = 256 * KiB

var errTooLarge = fmt.Errorf("it is larger than %v", maxFile)

// Discover returns the files of this machine for a workspace folder, or for none if it is empty.
func Discover(workspace string) Options {
	opts := Options{
		Managed:      managedFile(),
		Workspace:    workspace,
		Requirements: setting.RequirementsPath(runtime.GOOS, os.Getenv("ProgramData")),
	}
	if name, set := os.LookupEnv(EnvConfig); set {
		opts.User, opts.UserRequired = name, name != ""
	} else {
		opts.User, opts.UserError = userFile()
	}
	opts.Home, _ = Home() // without one, ~ is an error
	return opts
}

// WorkspaceFiles returns the policy files for a folder: the WorkspaceFile in it and those in all
// folders above it, the outermost first. Neither the top of a repository nor another WorkspaceFile
// hides one, since a command could create either. A file that can't be looked up is in the list.
func WorkspaceFiles(folder string) (files []string) {
	for _, file := range workspacePaths(folder) {
		if _, err := os.Lstat(file); err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			files = append(files, file)
		}
	}
	return files
}

// WorkspaceDigest returns a digest of the content of the policy files for a folder; "" if it has none.
func WorkspaceDigest(folder string) string {
	files := readFiles(Options{Workspace: folder})
	if len(files) == 0 {
		return ""
	}
	return digest(files)
}

// workspacePaths returns where the policy files for a folder may be, the outermost first.
func workspacePaths(folder string) (paths []string) {
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	for _, dir := range ancestors(folder) {
		paths = append(paths, filepath.Join(dir, WorkspaceFile))
	}
	return paths
}

// ancestors returns a folder and those above it, the outermost first.
func ancestors(folder string) (list []string) {
	for dir := folder; ; dir = filepath.Dir(dir) {
		list = append(list, dir)
		if dir == filepath.Dir(dir) {
			slices.Reverse(list)
			return list
		}
	}
}

// source is the content of a file.
type source struct {
	layer  Layer
	file   string // as in Options
	text   string
	err    *Error     // the file can't be read
	bundle *Bundle    // of the file's policy source; nil for none
	table  *tableFile // that the file names, or that the bundle has; nil for none
}

// isEmpty reports whether a file has no text, not even a comment.
func (s source) isEmpty() bool { return strings.TrimSpace(s.text) == "" }

// setsNothing reports whether a file has neither a key nor a section, as one with comments only.
func (s source) setsNothing(home string) bool {
	l, invalid := decode(s, home, false)
	return s.err == nil && s.bundle == nil && l != nil && len(invalid) == 0 && len(l.leaves) == 0 && len(l.sections) == 0
}

// readAll reads the files, and the bundle that one of them names.
func readAll(opts Options) []source {
	list := readFiles(opts)
	addBundle(list, opts)
	addTables(list, opts.Home)
	return list
}

// readFiles reads the files. It skips missing ones, except a required one. A file of the user or the
// machine that can't be looked for is an error: its policy must not be lost.
func readFiles(opts Options) []source {
	var list []source
	add := func(layer Layer, file string, required bool) {
		if file == "" {
			return
		}
		text, err := readFile(file, layer != Workspace)
		if link := brokenLink(file); link != "" && layer != Workspace && errors.Is(err, fs.ErrNotExist) {
			required, err = true, newError("can't be read: the target of the link "+link+" is missing", "restore the target, or remove the link")
		}
		if required || !errors.Is(err, fs.ErrNotExist) {
			list = append(list, source{layer: layer, file: file, text: text, err: readError(file, err)})
		}
	}
	add(Managed, opts.Managed, false)
	if opts.Candidate != opts.Managed {
		add(Managed, opts.Candidate, true)
	}
	switch draft := opts.Draft; {
	case draft != nil && !draft.IsWorkspace:
		list = append(list, draft.source(User))
	case opts.UserError != nil:
		list = append(list, source{layer: User, file: opts.User, err: opts.UserError})
	default:
		add(User, opts.User, opts.UserRequired)
	}
	if opts.Workspace != "" {
		for _, file := range WorkspaceFiles(opts.Workspace) {
			add(Workspace, file, false)
		}
	}
	if opts.Draft != nil && opts.Draft.IsWorkspace {
		list = append(list, opts.Draft.source(Workspace))
	}
	return list
}

// source returns the text as the content of a file.
func (d *Draft) source(of Layer) source {
	s := source{layer: of, file: d.File, text: d.Text}
	if Size(len(d.Text)) > maxFile {
		s.text, s.err = "", readError(d.File, errTooLarge)
	}
	return s
}

// readFile reads a file. If trusted is true, other users must not be able to write it, since it may
// name programs. Otherwise it must not be a link: Codex can't protect links from commands.
func readFile(name string, trusted bool) (string, error) {
	if link, err := os.Lstat(name); err == nil && !trusted && link.Mode()&fs.ModeSymlink != 0 {
		return "", newError("cannot be read: it is a symbolic link, which a command could replace",
			"replace the link by the file")
	}
	info, err := os.Stat(name)
	if err == nil {
		err = checkInfo(info, trusted)
	}
	if err != nil {
		return "", err
	}
	f, err := openFile(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err = f.Stat(); err == nil {
		err = checkInfo(info, trusted) // again, because a command could replace the file meanwhile
	}
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, int64(maxFile)+1))
	if err != nil {
		return "", err
	}
	if Size(len(b)) > maxFile {
		return "", errTooLarge
	}
	return string(b), nil
}

// OpenRegular opens a regular file for reading. It never waits, as for the writer of a named pipe, even if a command
// replaces the file meanwhile. An error has the name.
func OpenRegular(name string) (*os.File, error) {
	info, err := os.Stat(name) // to open a device can have an effect
	if err != nil {
		return nil, err
	}
	if err := checkInfo(info, false); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f, err := openFile(name)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = checkInfo(info, false)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.Join(err, f.Close())}
	}
	return f, nil
}

// checkInfo returns an error for what readFile must not read.
func checkInfo(info fs.FileInfo, trusted bool) error {
	switch {
	case info.IsDir():
		return errors.New("it is a folder")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	}
	if !trusted {
		return nil
	}
	if err := checkOwner(info); err != nil {
		return err
	}
	return nil
}

// readError returns an error of readFile with the file's name, or nil.
func readError(file string, err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		var pathError *fs.PathError
		if errors.As(err, &pathError) {
			err = pathError.Err
		}
		e = newError("cannot be read: "+err.Error(), "fix it or remove it")
	}
	if errors.Is(err, fs.ErrNotExist) {
		e = newError("no such file", "create it, or unset "+EnvConfig)
	}
	e.File = file
	return e
}

// digest identifies the content of the files and the errors of reading them.
func digest(sources []source) string {
	h := sha256.New()
	for _, s := range sources {
		text := s.text
		if s.err != nil {
			text = s.err.Error()
		}
		fmt.Fprintf(h, "%d %q %d\n%s\n", s.layer, s.file, len(text), text)
		if b := s.bundle; b != nil {
			fmt.Fprintf(h, "%q %q %q %q\n", b.Name, b.Text, b.Missing, b.Table)
		}
		if t := s.table; t != nil {
			fmt.Fprintf(h, "%q %q %v\n", t.name, t.text, t.err)
		}
	}
	return string(h.Sum(nil))
}
