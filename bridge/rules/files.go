package rules

import (
	"iter"
	"path"
	"path/filepath"
	"slices"
)

// Change is one file that is added, changed, deleted or moved.
type Change struct {
	Path string // canonical: absolute, clean, symbolic links resolved
	To   string // the canonical new path if the file is moved; else empty
}

// Files decides a change of files: the strictest decision of all paths counts, and all paths must
// be allowed. If the file system ignores case, the caller passes the spelling that the file system
// has.
func (s *Set) Files(changes []Change, e Escalation, dirs Dirs) Match {
	paths := make([]string, 0, len(changes))
	for _, c := range changes {
		paths = append(paths, c.Path)
		if c.To != "" {
			paths = append(paths, c.To)
		}
	}
	if len(paths) == 0 {
		paths = []string{""} // an unknown file
	}
	var best, allowed Match
	all := true
	for _, file := range paths {
		m := s.decideFile(file, e, dirs)
		if m.Decision == Allow {
			if allowed.Rule == nil {
				allowed = m
			}
			best.addExceptions(m.Exceptions)
			continue
		}
		all = false
		best.tighten(m)
	}
	if best.Decision == None && all {
		allowed.Exceptions = best.Exceptions
		return allowed
	}
	return best
}

// decideFile decides one path. A path that is not canonical may match every rule.
func (s *Set) decideFile(file string, e Escalation, dirs Dirs) Match {
	slashed := filepath.ToSlash(file)
	canonical := filepath.IsAbs(file) && path.Clean(slashed) == slashed
	m := s.decide(e, func(l *layer) iter.Seq[int] { return slices.Values(l.paths) }, func(r *rule) certainty {
		switch {
		case !r.file:
			return noMatch
		case !canonical:
			return possibleMatch
		case r.anyPath:
			return certainMatch
		}
		return r.path.match(slashed, dirs)
	})
	if m.Decision == None {
		return m
	}
	m.setPart(file)
	if !canonical {
		m.Why = "the path is not known, so a rule that could match decides"
	}
	return m
}
