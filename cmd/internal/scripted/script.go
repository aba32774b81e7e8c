package scripted

import "strings"

// Script is what a demo or a test has prepared. A request is answered by the
// first step that is left and fits; each step answers once. What no step fits
// is answered by Vocabulary.
type Script []Step

// Step is one prepared answer.
type Step struct {
	// When must be contained in what the model is to react to: the text of the
	// user's last message or, when a tool has answered since, its output.
	// Empty fits everything.
	When  string
	Reply Reply
}

// next takes the step that answers text out of the script.
func (s *Script) next(text string) (Reply, bool) {
	for i, step := range *s {
		if strings.Contains(text, step.When) {
			*s = append((*s)[:i:i], (*s)[i+1:]...)
			return step.Reply, true
		}
	}
	return nil, false
}
