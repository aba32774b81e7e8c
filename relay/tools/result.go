package tools

// Result is what a tool said.
type Result struct {
	Content []Content
	Failed  bool
}

// Content is one piece of a result: a text or an image.
type Content struct {
	Text  string
	Image string // a data URL; "" for a text
}
