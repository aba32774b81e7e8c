package config

import (
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// workspaceVar stays in WritableRoots and Rule.Path: each thread has a
// workspace of its own.
const workspaceVar = "${workspace}"

// from is what paths of a file are relative to.
type from struct {
	home string // empty when not known
	dir  string // the file's folder, absolute
}

// variables refuses ${…} other than a leading ${workspace}/.
func variables(s string, workspace bool) problem {
	rest := s
	if workspace {
		if after, ok := strings.CutPrefix(s, workspaceVar); ok && (after == "" || after[0] == '/') {
			rest = after
		}
	}
	i := strings.Index(rest, "${")
	if i < 0 {
		return problem{}
	}
	name := rest[i:]
	if j := strings.IndexByte(name, '}'); j >= 0 {
		name = name[:j+1]
	}
	switch {
	case name == workspaceVar && workspace:
		return problem{"${workspace} is not the leading folder", `write it first, with a slash after it, as in "${workspace}/sub"`}
	case workspace:
		return problem{clip(name) + " is not a variable", "only ${workspace} is known here"}
	}
	return problem{clip(name) + " is not a variable", "no variables are known here; write the path itself"}
}

// tilde expands a leading ~ or ~/.
func (f from) tilde(s string) (string, problem) {
	if s == "" || s[0] != '~' {
		return s, problem{}
	}
	rest := filepath.ToSlash(s[1:])
	switch {
	case rest != "" && rest[0] != '/':
		return "", problem{clip(s) + " names another user's home folder", "only ~ and ~/… are known; write the path itself"}
	case f.home == "":
		return "", problem{"the home folder is not known", "set HOME, or write the path itself"}
	}
	return filepath.Join(f.home, rest), problem{}
}

// root is a writable root: absolute, or below ${workspace}. It comes back
// clean, so that "inside" can be judged by prefix.
func (f from) root(s string) (string, problem) {
	if p := variables(s, true); !p.ok() {
		return "", p
	}
	if rest, ok := strings.CutPrefix(s, workspaceVar); ok {
		rest = path.Clean("./" + rest)
		if rest == ".." || strings.HasPrefix(rest, "../") {
			return "", problem{clip(s) + " leads out of the workspace", "write an absolute path"}
		}
		if rest == "." {
			return workspaceVar, problem{}
		}
		return workspaceVar + "/" + rest, problem{}
	}
	s, p := f.tilde(s)
	if !p.ok() {
		return "", p
	}
	if !filepath.IsAbs(s) {
		return "", problem{clip(s) + " is relative", "write an absolute path, or begin with ${workspace}/ or ~/"}
	}
	return filepath.Clean(s), problem{}
}

// rulePath is the glob of a rule. A relative one would never match, which
// would make a deny rule an empty promise.
func (f from) rulePath(s string) (string, problem) {
	if p := variables(s, true); !p.ok() {
		return "", p
	}
	if strings.HasPrefix(s, "~") {
		f.home = escapeGlob(filepath.ToSlash(f.home)) // a folder's name is no pattern
	}
	s, p := f.tilde(s)
	if !p.ok() {
		return "", p
	}
	if runtime.GOOS == "windows" {
		s = filepath.ToSlash(s) // where a backslash is a separator, it cannot escape
	}
	if !strings.HasPrefix(s, workspaceVar) && !strings.HasPrefix(s, "**/") && s != "**" && !filepath.IsAbs(filepath.FromSlash(s)) {
		return "", problem{clip(s) + " is relative and would match nothing", "begin with ${workspace}/, ~/, **/ or write an absolute path"}
	}
	return s, globFault(strings.TrimPrefix(s, workspaceVar), s)
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `\`, `\\`).Replace(s)
}

// command is a program: a bare name is looked up on PATH later, a path is
// relative to the file that names it.
func (f from) command(s string) (string, problem) {
	if s == "" {
		return "", problem{"empty", "name a program"}
	}
	if p := variables(s, false); !p.ok() {
		return "", p
	}
	s, p := f.tilde(s)
	if !p.ok() {
		return "", p
	}
	if filepath.IsAbs(s) || !strings.ContainsAny(s, `/`+string(filepath.Separator)) {
		return s, problem{}
	}
	return filepath.Join(f.dir, s), problem{}
}

// protected is a file or folder in every workspace.
func (f from) protected(s string) (string, problem) {
	if p := variables(s, false); !p.ok() {
		return "", p
	}
	clean := path.Clean(filepath.ToSlash(s))
	switch {
	case s == "" || clean == ".":
		return "", problem{"empty", `name a file or folder of the workspace, as in ".git"`}
	case s[0] == '~' || filepath.IsAbs(s) || path.IsAbs(clean):
		return "", problem{clip(s) + " is not relative", "name a file or folder of the workspace; for others write a [[policy.rule]] with path"}
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "", problem{clip(s) + " leads out of the workspace", "for other places write a [[policy.rule]] with path"}
	case strings.Contains(clean, "\\"):
		return "", problem{clip(s) + " has a backslash", "write / between the names"}
	case strings.ContainsAny(s, "*?["):
		return "", problem{clip(s) + " is a pattern", "name a file or folder; for patterns write a [[policy.rule]] with path"}
	}
	return clean, problem{}
}
