package replay

import (
	"errors"
	"slices"

	"codex-bridge.example/bridge/policy"
)

// pathAnswer is what the file system answered about a path.
type pathAnswer struct {
	Follow bool   `json:"follow,omitempty"` // of Paths.Follow
	Path   string `json:"path"`
	To     string `json:"to,omitempty"` // "": Path itself
	// Readings is the answer of Paths.Readings; nil: the answer is of another method.
	Readings []string `json:"readings,omitzero"`
	Err      string   `json:"error,omitempty"` // it has no canonical form
	Maybe    bool     `json:"maybe,omitempty"` // Err is a PathError
}

// isOf reports whether the answer is one of the method of another answer about the same path.
func (a pathAnswer) isOf(other pathAnswer) bool {
	return a.Path == other.Path && a.Follow == other.Follow && (a.Readings == nil) == (other.Readings == nil)
}

// result returns the answer of Paths.Canonical or Paths.Follow.
func (a pathAnswer) result() (string, error) {
	if err := a.problem(); err != nil {
		return "", err
	}
	if a.To == "" {
		return a.Path, nil
	}
	return a.To, nil
}

// problem returns the error of the answer; nil if there was none.
func (a pathAnswer) problem() error {
	switch {
	case a.Err != "" && a.Maybe:
		return policy.PathError(a.Err)
	case a.Err != "":
		return errors.New(a.Err)
	}
	return nil
}

// PathLog is Paths that remembers its answers, for Facts. It belongs to one decision.
type PathLog struct {
	policy.Paths
	answers []pathAnswer
	full    bool
}

// Canonical implements Paths.
func (l *PathLog) Canonical(path string) (string, error) {
	to, err := l.Paths.Canonical(path)
	l.add(pathAnswer{Path: path, To: to}, err)
	return to, err
}

// Follow implements Paths.
func (l *PathLog) Follow(path string) (string, error) {
	to, err := l.Paths.Follow(path)
	l.add(pathAnswer{Follow: true, Path: path, To: to}, err)
	return to, err
}

// Readings implements Paths.
func (l *PathLog) Readings(path string) ([]string, error) {
	found, err := l.Paths.Readings(path)
	l.add(pathAnswer{Path: path, Readings: append([]string{}, found...)}, err)
	return found, err
}

func (l *PathLog) add(a pathAnswer, err error) {
	if slices.ContainsFunc(l.answers, a.isOf) {
		return
	}
	if l.full = l.full || len(l.answers) == maxFactPaths; l.full {
		return
	}
	if a.To == a.Path {
		a.To = ""
	}
	if err != nil {
		a.Err, a.Maybe = err.Error(), errors.As(err, new(policy.PathError))
	}
	l.answers = append(l.answers, a)
}
