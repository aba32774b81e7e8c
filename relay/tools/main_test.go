package tools_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"go.uber.org/goleak"

	"codex-bridge.example/relay/tools"
)

const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider is a Provider of functions.
type provider struct {
	specs   []tools.Spec
	timeout time.Duration
	run     func(context.Context, tools.Call) (tools.Result, error)
}

func (p *provider) Specs() []tools.Spec          { return p.specs }
func (p *provider) Timeout(string) time.Duration { return p.timeout }
func (p *provider) Run(ctx context.Context, call tools.Call) (tools.Result, error) {
	return p.run(ctx, call)
}

func spec(name string, with ...func(*tools.Spec)) tools.Spec {
	s := tools.Spec{Name: name, Description: "what it does", InputSchema: json.RawMessage(`{"type":"object","properties":{}}`), Origin: "tools." + name}
	for _, f := range with {
		f(&s)
	}
	return s
}

func inNamespace(namespace string) func(*tools.Spec) {
	return func(s *tools.Spec) { s.Namespace = namespace }
}

func from(origin string) func(*tools.Spec) { return func(s *tools.Spec) { s.Origin = origin } }

func searchable(s *tools.Spec) { s.Searchable = true }

func schema(text string) func(*tools.Spec) {
	return func(s *tools.Spec) { s.InputSchema = json.RawMessage(text) }
}

func says(text string) func(context.Context, tools.Call) (tools.Result, error) {
	return func(context.Context, tools.Call) (tools.Result, error) { return result(text), nil }
}

func result(texts ...string) (r tools.Result) {
	for _, t := range texts {
		r.Content = append(r.Content, tools.Content{Text: t})
	}
	return r
}

// newRunner returns a runner of one tool, t1, that calls run.
func newRunner(t *testing.T, o tools.Options, run func(context.Context, tools.Call) (tools.Result, error), with ...func(*tools.Spec)) *tools.Runner {
	t.Helper()
	r := tools.NewRunner(tools.NewCatalogue(&provider{specs: []tools.Spec{spec("t1", with...)}, run: run}), o)
	t.Cleanup(r.Close)
	return r
}

func call(arguments string) tools.Call {
	return tools.Call{Thread: "th", Turn: "tu", ID: "c1", Name: "t1", Arguments: json.RawMessage(arguments)}
}

func texts(a tools.Answer) (all []string) {
	for _, item := range a.Items {
		all = append(all, item.Text)
	}
	return all
}
