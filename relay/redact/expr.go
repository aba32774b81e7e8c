package redact

import (
	"regexp"
	"sync"
)

// expr is a regular expression that is compiled at its first use, because most processes
// never redact.
type expr struct{ compiled func() *regexp.Regexp }

func newExpr(text string) *expr {
	return &expr{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (e *expr) MatchString(text string) bool { return e.compiled().MatchString(text) }
func (e *expr) FindStringIndex(text string) []int {
	return e.compiled().FindStringIndex(text)
}
func (e *expr) FindString(text string) string { return e.compiled().FindString(text) }
func (e *expr) ReplaceAllString(text, instead string) string {
	return e.compiled().ReplaceAllString(text, instead)
}
func (e *expr) ReplaceAllStringFunc(text string, f func(string) string) string {
	return e.compiled().ReplaceAllStringFunc(text, f)
}
