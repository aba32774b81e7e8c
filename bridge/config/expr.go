package config

import (
	"regexp"
	"sync"
)

// expr is a regular expression that is compiled when it is first asked: most starts,
// and every process of a hook, ask none, and all of them cost 0.5 ms.
type expr struct {
	text     string
	compiled func() *regexp.Regexp
}

func newExpr(text string) *expr {
	return &expr{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (e *expr) MatchString(s string) bool { return e.compiled().MatchString(s) }

func (e *expr) String() string { return e.text }
