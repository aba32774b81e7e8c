package tools

import (
	"encoding/json"
	"time"
	"unicode/utf16"
)

// Answer is what Codex is told of a call, the result of item/tool/call. Codex shows the
// model the items and not Success (measured with 0.169.0): a failure has to be told by
// a text.
type Answer struct {
	Items   []Content
	Success bool
	// Timeout is that of the Result. Codex does not get it.
	Timeout time.Duration
}

// MarshalJSON writes what Codex reads.
func (a Answer) MarshalJSON() ([]byte, error) {
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type image struct {
		Type string `json:"type"`
		URL  string `json:"imageUrl"`
	}
	items := make([]any, len(a.Items))
	for i, item := range a.Items {
		if item.Image != "" {
			items[i] = image{"inputImage", item.Image}
		} else {
			items[i] = text{"inputText", item.Text}
		}
	}
	return json.Marshal(struct {
		Items   []any `json:"contentItems"`
		Success bool  `json:"success"`
	}{items, a.Success})
}

// failed is the answer to a call that came to nothing.
func failed(text string, maxText int) Answer {
	return Convert(Result{Content: []Content{{Text: text}}, Failed: true}, maxText)
}

// characters counts as the limits do, in UTF-16: a text within a limit is within it by
// every other count of characters, too.
func characters(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// first are the first most characters of s.
func first(s string, most int) string {
	for i, r := range s {
		if most -= utf16.RuneLen(r); most < 0 {
			return s[:i]
		}
	}
	return s
}
