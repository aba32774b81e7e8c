package rules

import (
	"iter"
	"path"
	"path/filepath"
	"slices"
)

// Change is one file that is to be added, changed, deleted or moved.
type Change struct {
	Path string // canonical: absolute, clean, symbolic links resolved
	To   string // where it is moved to, in the same spelling; else empty
}

// Files decides a change of files: by every path, as Shell does by every
// command. Where the file system takes no notice of case, the caller gives the
// spelling that the file system has.
func (s *Set) Files(changes []Change, e Escalation, dirs Dirs) Match {
	paths := make([]string, 0, len(changes))
	for _, c := range changes {
		paths = append(paths, c.Path)
		if c.To != "" {
			paths = append(paths, c.To)
		}
	}
	if len(paths) == 0 {
		paths = []string{""} // some file, which is not known
	}
	var best, allowed Match
	all := true
	for _, file := range paths {
		m := s.file(file, e, dirs)
		if m.Decision == Allow {
			if allowed.Rule == nil {
				allowed = m
			}
			continue
		}
		all = false
		best.stricter(m)
	}
	if best.Decision == None && all {
		return allowed
	}
	return best
}

func (s *Set) file(file string, e Escalation, dirs Dirs) Match {
	slashed := filepath.ToSlash(file)
	canonical := filepath.IsAbs(file) && path.Clean(slashed) == slashed
	m := s.decide(e, func(l *layer) iter.Seq[int] { return slices.Values(l.paths) }, func(r *rule) certainty {
		switch {
		case !r.file:
			return no
		case !canonical:
			return could
		case r.any:
			return sure
		}
		return r.path.match(slashed, dirs)
	})
	if m.Decision == None {
		return m
	}
	m.Part = file
	if !canonical {
		m.Why = "the path is not known, so a rule that could match decides"
	}
	return m
}
