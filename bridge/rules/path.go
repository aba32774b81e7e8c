package rules

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

type pathRoot int

const (
	anywhere pathRoot = iota
	inWorkspace
	inHome
)

// pathGlob is a rule's path.
type pathGlob struct {
	root pathRoot
	glob string // of what follows the root
	// What a path must have, so that most globs need not be tried.
	pre, suf, part string
}

func compilePath(text string) pathGlob {
	g := pathGlob{glob: filepath.ToSlash(text)}
	if rest, ok := strings.CutPrefix(text, "${workspace}"); ok {
		g.root, g.glob = inWorkspace, strings.TrimPrefix(rest, "/")
	} else if text == "~" || strings.HasPrefix(text, "~/") {
		g.root, g.glob = inHome, strings.TrimPrefix(text[1:], "/")
	}
	g.pre, g.suf = g.glob, g.glob
	if i := strings.IndexAny(g.glob, globMeta); i >= 0 {
		g.pre = g.glob[:i]
		// a/** is also a: the slash before ** may be missing.
		g.pre, g.suf = strings.TrimSuffix(g.pre, "/"), ""
		if !strings.ContainsAny(g.glob, `{\`) {
			g.suf = g.glob[strings.LastIndexAny(g.glob, "*?]")+1:]
			g.suf = strings.TrimPrefix(g.suf, "/")
		}
		if !strings.ContainsAny(g.glob, `{\[`) {
			for _, run := range strings.FieldsFunc(g.glob, func(c rune) bool { return strings.ContainsRune("*?/", c) }) {
				if len(run) > len(g.part) {
					g.part = run
				}
			}
		}
	}
	return g
}

// match compares with a canonical path. ${workspace} and ~ that are not known
// may be any folder.
func (g *pathGlob) match(file string, dirs Dirs) certainty {
	if g.root == anywhere {
		return g.try(file)
	}
	dir := dirs.Workspace
	if g.root == inHome {
		dir = dirs.Home
	}
	if dir == "" {
		return could
	}
	dir = filepath.ToSlash(dir)
	rest, ok := below(dir, file)
	if !ok || g.try(rest) == no {
		return no
	}
	// As everywhere in the policy, ${workspace} never stands for the root, the
	// home folder or one above it: an allow rule was not written for those.
	if g.root == inWorkspace {
		if _, above := below(dir, filepath.ToSlash(dirs.Home)); above || path.Dir(dir) == dir {
			return could
		}
	}
	return sure
}

func (g *pathGlob) try(file string) certainty {
	if !strings.HasPrefix(file, g.pre) || !strings.HasSuffix(file, g.suf) || !strings.Contains(file, g.part) {
		return no
	}
	if ok, err := doublestar.Match(g.glob, file); err != nil || !ok {
		return no
	}
	return sure
}

// ends says whether a path of which only the last letters are known could
// match.
func (g *pathGlob) ends(last string) certainty {
	if n := min(len(g.suf), len(last)); g.suf[len(g.suf)-n:] != last[len(last)-n:] {
		return no
	}
	return could
}

// below gives the rest of file under dir.
func below(dir, file string) (string, bool) {
	if file == dir {
		return "", true
	}
	rest, ok := strings.CutPrefix(file, dir)
	if !ok || strings.HasSuffix(dir, "/") {
		return rest, ok
	}
	return strings.CutPrefix(rest, "/")
}
