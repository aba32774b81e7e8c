package rules

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// pathRoot is the folder from which a glob of a rule starts.
type pathRoot int

const (
	anywhere pathRoot = iota
	inWorkspace
	inHome
)

// pathGlob is the path of a rule.
type pathGlob struct {
	root pathRoot
	glob string // for the path below the root
	// A matching path has this prefix, suffix and part. The check saves most glob matches.
	prefix, suffix, literal string
}

// compilePath returns the glob of a rule's path.
func compilePath(text string) pathGlob {
	g := pathGlob{glob: filepath.ToSlash(text)}
	if rest, ok := strings.CutPrefix(text, "${workspace}"); ok {
		g.root, g.glob = inWorkspace, strings.TrimPrefix(rest, "/")
	} else if text == "~" || strings.HasPrefix(text, "~/") {
		g.root, g.glob = inHome, strings.TrimPrefix(text[1:], "/")
	}
	g.prefix, g.suffix = g.glob, g.glob
	if i := strings.IndexAny(g.glob, globMeta); i >= 0 {
		g.prefix = g.glob[:i]
		// a/** is also a: the slash before ** may be missing.
		g.prefix, g.suffix = strings.TrimSuffix(g.prefix, "/"), ""
		if !strings.ContainsAny(g.glob, `{\`) {
			g.suffix = g.glob[strings.LastIndexAny(g.glob, "*?]")+1:]
			g.suffix = strings.TrimPrefix(g.suffix, "/")
		}
		if !strings.ContainsAny(g.glob, `{\[`) {
			for _, run := range strings.FieldsFunc(g.glob, func(c rune) bool { return strings.ContainsRune("*?/", c) }) {
				if len(run) > len(g.literal) {
					g.literal = run
				}
			}
		}
	}
	return g
}

// match compares g with a canonical path. An unknown ${workspace} or ~ may be any folder.
func (g *pathGlob) match(file string, dirs Dirs) certainty {
	if g.root == anywhere {
		return g.matchGlob(file)
	}
	dir := dirs.Workspace
	if g.root == inHome {
		dir = dirs.Home
	}
	if dir == "" {
		return possibleMatch
	}
	dir = filepath.ToSlash(dir)
	rest, ok := relativeTo(dir, file)
	if !ok || g.matchGlob(rest) == noMatch {
		return noMatch
	}
	// As everywhere in the policy, ${workspace} never means the root, the home folder or a folder
	// above it. So an allow rule does not apply there.
	if g.root == inWorkspace {
		if _, above := relativeTo(dir, filepath.ToSlash(dirs.Home)); above || path.Dir(dir) == dir {
			return possibleMatch
		}
	}
	return certainMatch
}

// matchGlob compares the glob with the part of a path below the root.
func (g *pathGlob) matchGlob(file string) certainty {
	if !strings.HasPrefix(file, g.prefix) || !strings.HasSuffix(file, g.suffix) || !strings.Contains(file, g.literal) {
		return noMatch
	}
	if ok, err := doublestar.Match(g.glob, file); err != nil || !ok {
		return noMatch
	}
	return certainMatch
}

// mayEndWith returns possibleMatch if g may match a path of which only the end is known.
func (g *pathGlob) mayEndWith(last string) certainty {
	if n := min(len(g.suffix), len(last)); g.suffix[len(g.suffix)-n:] != last[len(last)-n:] {
		return noMatch
	}
	return possibleMatch
}

// relativeTo returns the part of file below dir. The result is false if file is not in dir.
func relativeTo(dir, file string) (string, bool) {
	if file == dir {
		return "", true
	}
	rest, ok := strings.CutPrefix(file, dir)
	if !ok || strings.HasSuffix(dir, "/") {
		return rest, ok
	}
	return strings.CutPrefix(rest, "/")
}
