package tools

import (
	"context"
	"encoding/json"
	"time"
)

// Call is one call of a tool by the model.
type Call struct {
	Thread, Turn, ID string
	Namespace, Name  string
	Arguments        json.RawMessage // an object
	Cwd              string          // the thread's folder
}

// Provider has tools and runs them. It may be used by many goroutines at once.
type Provider interface {
	// Specs are the tools as they are now.
	Specs() []Spec
	// Timeout is the limit of the tool's own; 0: none of its own.
	Timeout(name string) time.Duration
	// Run runs a call to its end. When ctx ends it ends, too, and with it whatever it has
	// started. An error is told to the model as the result of a call that failed.
	Run(ctx context.Context, call Call) (Result, error)
}
