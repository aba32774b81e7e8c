package tools

import (
	"context"
	"encoding/json"
	"time"
)

// Call is a call of a tool by the model.
type Call struct {
	Thread, Turn, ID string
	Namespace, Name  string
	Arguments        json.RawMessage // an object
	Cwd              string          // the thread's folder
}

// Provider has tools and runs them. It may be used by many goroutines at once.
type Provider interface {
	// Specs returns the current tools.
	Specs() []Spec
	// Timeout returns the tool's own timeout; 0: none.
	Timeout(name string) time.Duration
	// Run runs a call. It returns soon after ctx ends, and ends what it has started. The
	// model gets an error as a failed result.
	Run(ctx context.Context, call Call) (Result, error)
}

// Spec is a provider's description of a tool.
type Spec struct {
	Namespace   string // may be empty
	Name        string
	Description string
	InputSchema json.RawMessage // a JSON Schema of type object
	Searchable  bool            // found by the model's search (deferLoading) instead of being shown; needs a namespace
	Origin      string          // for people: the configuration key or the request that defines the tool
}

// Result is the result of a tool.
type Result struct {
	Content []Content
	Failed  bool
	// Timeout is the timeout that the tool exceeded; 0: none.
	Timeout time.Duration
}

// Content is a part of a result: a text or an image.
type Content struct {
	Text  string
	Image string // a data URL; "" for a text
}
