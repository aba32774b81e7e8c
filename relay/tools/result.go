package tools

import "time"

// Result is what a tool said.
type Result struct {
	Content []Content
	Failed  bool
	// Timeout is the limit that a tool without a result has exceeded; 0: none.
	Timeout time.Duration
}

// Content is one piece of a result: a text or an image.
type Content struct {
	Text  string
	Image string // a data URL; "" for a text
}
