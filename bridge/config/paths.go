package config

import (
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// workspaceVar stays in WritableRoots and Rule.Path, since each thread has its own workspace.
const workspaceVar = "${workspace}"

// pathResolver expands and checks the paths of a file.
type pathResolver struct {
	home string // empty if unknown
	dir  string // the absolute folder of the file
}

// checkVariables refuses ${…}, except a leading ${workspace} if workspace is true.
func checkVariables(s string, workspace bool) *Error {
	rest := s
	if workspace {
		if after, ok := strings.CutPrefix(s, workspaceVar); ok && (after == "" || after[0] == '/') {
			rest = after
		}
	}
	i := strings.Index(rest, "${")
	if i < 0 {
		return nil
	}
	name := rest[i:]
	if j := strings.IndexByte(name, '}'); j >= 0 {
		name = name[:j+1]
	}
	switch {
	case name == workspaceVar && workspace:
		return newError("${workspace} is not the leading folder", `write it first, with a slash after it, as in "${workspace}/sub"`)
	case workspace:
		return newError(quote(name)+" is not a variable", "only ${workspace} is known here")
	}
	return newError(quote(name)+" is not a variable", "no variables are known here; write the path itself")
}

// tilde expands ~ and a leading ~/.
func (r pathResolver) tilde(s string) (string, *Error) {
	if s == "" || s[0] != '~' {
		return s, nil
	}
	rest := filepath.ToSlash(s[1:])
	switch {
	case rest != "" && rest[0] != '/':
		return "", newError(quote(s)+" names another user's home folder", "only ~ and ~/… are known; write the path itself")
	case r.home == "":
		return "", newError("the home folder is not known", "set HOME, or write the path itself")
	}
	return filepath.Join(r.home, rest), nil
}

// root returns a writable root, which is absolute or below ${workspace}. The path is clean, so that
// within can compare prefixes.
func (r pathResolver) root(s string) (string, *Error) {
	if e := checkVariables(s, true); e != nil {
		return "", e
	}
	if rest, ok := strings.CutPrefix(s, workspaceVar); ok {
		rest = path.Clean("./" + rest)
		if rest == ".." || strings.HasPrefix(rest, "../") {
			return "", newError(quote(s)+" leads out of the workspace", "write an absolute path")
		}
		if rest == "." {
			return workspaceVar, nil
		}
		return workspaceVar + "/" + rest, nil
	}
	s, e := r.tilde(s)
	if e != nil {
		return "", e
	}
	if !filepath.IsAbs(s) {
		return "", newError(quote(s)+" is relative", "write an absolute path, or begin with ${workspace}/ or ~/")
	}
	return filepath.Clean(s), nil
}

// rulePath returns the glob of a rule. It refuses a relative glob: a deny rule with one would never
// match.
func (r pathResolver) rulePath(s string) (string, *Error) {
	if e := checkVariables(s, true); e != nil {
		return "", e
	}
	if strings.HasPrefix(s, "~") {
		r.home = escapeGlob(filepath.ToSlash(r.home)) // the folder's name is not a pattern
	}
	s, e := r.tilde(s)
	if e != nil {
		return "", e
	}
	if runtime.GOOS == "windows" {
		s = filepath.ToSlash(s) // a backslash separates folders there
	}
	if !strings.HasPrefix(s, workspaceVar) && !strings.HasPrefix(s, "**/") && s != "**" && !filepath.IsAbs(filepath.FromSlash(s)) {
		return "", newError(quote(s)+" is relative and would match nothing", "begin with ${workspace}/, ~/, **/ or write an absolute path")
	}
	return s, checkGlobPart(strings.TrimPrefix(s, workspaceVar), s)
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `\`, `\\`).Replace(s)
}

// command returns a program: a bare name, which the bridge looks up on PATH later, or an absolute
// path.
func (r pathResolver) command(s string) (string, *Error) {
	if s == "" {
		return "", newError("empty", "name a program")
	}
	if e := checkVariables(s, false); e != nil {
		return "", e
	}
	s, e := r.tilde(s)
	if e != nil {
		return "", e
	}
	if filepath.IsAbs(s) || !strings.ContainsAny(s, `/`+string(filepath.Separator)) {
		return s, nil
	}
	return filepath.Join(r.dir, s), nil
}

// file returns the absolute path of a file; a relative one begins in the folder of the configuration file.
func (r pathResolver) file(s string) (string, *Error) {
	if e := checkVariables(s, false); e != nil || s == "" {
		return "", e
	}
	s, e := r.tilde(s)
	if e != nil || filepath.IsAbs(s) {
		return s, e
	}
	return filepath.Join(r.dir, s), nil
}

// protected returns the relative path of a file or folder in each workspace.
func (r pathResolver) protected(s string) (string, *Error) {
	if e := checkVariables(s, false); e != nil {
		return "", e
	}
	clean := path.Clean(filepath.ToSlash(s))
	switch {
	case s == "" || clean == ".":
		return "", newError("empty", `name a file or folder of the workspace, as in ".git"`)
	case s[0] == '~' || filepath.IsAbs(s) || path.IsAbs(clean):
		return "", newError(quote(s)+" is not relative", "name a file or folder of the workspace; for others write a [[policy.rule]] with path")
	case clean == ".." || strings.HasPrefix(clean, "../"):
		return "", newError(quote(s)+" leads out of the workspace", "for other places write a [[policy.rule]] with path")
	case strings.Contains(clean, "\\"):
		return "", newError(quote(s)+" has a backslash", "write / between the names")
	case strings.ContainsAny(s, "*?["):
		return "", newError(quote(s)+" is a pattern", "name a file or folder; for patterns write a [[policy.rule]] with path")
	}
	return clean, nil
}
