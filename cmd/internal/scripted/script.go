package scripted

import "strings"

// Script has the prepared answers of a demo or a test. The first remaining step that fits answers a
// request; each step answers once. Vocabulary answers other requests.
type Script []Step

// Step is one prepared answer.
type Step struct {
	// When must be a part of the last input of the model: the user's last message, or the output of
	// a later tool call. Empty fits everything.
	When  string
	Reply Reply
}

// next removes the step that answers text from the script.
func (s *Script) next(text string) (Reply, bool) {
	for i, step := range *s {
		if strings.Contains(text, step.When) {
			*s = append((*s)[:i:i], (*s)[i+1:]...)
			return step.Reply, true
		}
	}
	return nil, false
}
