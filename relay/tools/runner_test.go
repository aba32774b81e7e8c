package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/tools"
)

func checkFailure(t *testing.T, a tools.Answer, want string) {
	t.Helper()
	if got := strings.Join(texts(a), ""); a.Success || !strings.Contains(got, want) {
		t.Errorf("%v %q, want %q", a.Success, got, want)
	}
}

func limits(timeout, most time.Duration) config.ToolLimits {
	return config.ToolLimits{Timeout: config.Duration(timeout), MaxTimeout: config.Duration(most)}
}

func TestStepsRunInOrder(t *testing.T) {
	var order []string
	note := func(format string, args ...any) { order = append(order, fmt.Sprintf(format, args...)) }
	o := tools.Options{
		Before: []tools.Before{
			func(_ context.Context, call tools.Call) (tools.Call, string) {
				note("before %s", call.Arguments)
				call.Arguments, call.Name = json.RawMessage(`{"id":"new"}`), "other"
				return call, ""
			},
			func(_ context.Context, call tools.Call) (tools.Call, string) {
				note("then %s %s", call.Name, call.Arguments)
				return call, ""
			},
		},
		Handlers: []tools.Handler{
			func(_ context.Context, _ tools.Call, r tools.Result) (tools.Result, error) {
				note("handle %s", r.Content[0].Text)
				return result("first"), nil
			},
			func(_ context.Context, _ tools.Call, r tools.Result) (tools.Result, error) {
				note("handle %s", r.Content[0].Text)
				return result("second"), nil
			},
		},
		After: []tools.After{
			func(_ context.Context, call tools.Call, a tools.Answer) {
				note("after %s %s", call.Arguments, a.Items[0].Text)
			},
			func(context.Context, tools.Call, tools.Answer) { panic("an observer") },
			func(context.Context, tools.Call, tools.Answer) { note("after all") },
		},
	}
	r := newRunner(t, o, func(_ context.Context, call tools.Call) (tools.Result, error) {
		note("run %s %s", call.Name, call.Arguments)
		return result("ran"), nil
	}, schema(`{"type":"object","properties":{"id":{"enum":["new"]}}}`))
	if got := r.Answer(t.Context(), call(`{"id":"old"}`)); !got.Success || got.Items[0].Text != "second" {
		t.Errorf("%+v", got)
	}
	want := []string{`before {"id":"old"}`, `then t1 {"id":"new"}`, `run t1 {"id":"new"}`, "handle ran", "handle first", `after {"id":"new"} second`, "after all"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Error(diff)
	}
}

// Every failure is answered with a text that helps the model.
func TestEveryFailureIsAnswered(t *testing.T) {
	before := func(f tools.Before) tools.Options { return tools.Options{Before: []tools.Before{f}} }
	handle := func(f func(tools.Result) (tools.Result, error)) tools.Options {
		return tools.Options{Handlers: []tools.Handler{func(_ context.Context, _ tools.Call, r tools.Result) (tools.Result, error) { return f(r) }}}
	}
	const typed = `{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"integer"}},"required":["id"],"additionalProperties":false}`
	for _, test := range []struct {
		name   string
		o      tools.Options
		schema string
		args   string
		run    func(context.Context, tools.Call) (tools.Result, error)
		want   string
	}{
		{name: "refused", o: before(func(_ context.Context, c tools.Call) (tools.Call, string) { return c, "not on Sundays" }), want: "not on Sundays"},
		{name: "who is asked panics", o: before(func(context.Context, tools.Call) (tools.Call, string) { panic("x") }), want: "a check that must allow it failed"},
		{name: "who is asked leaves", o: before(func(context.Context, tools.Call) (tools.Call, string) { runtime.Goexit(); return tools.Call{}, "" }), want: "a check that must allow it failed"},
		{name: "an argument is missing", schema: typed, args: `{"n":1}`, want: `its arguments do not match its schema: required: missing properties: ["id"]. Fix`},
		{name: "an argument of another type", schema: typed, args: `{"id":5}`, want: `/id: type: 5 has type "integer", want "string"`},
		{name: "an argument too many", schema: typed, args: `{"id":"x","m":1}`, want: `unexpected additional properties ["m"]`},
		{name: "no object", schema: typed, args: `[1]`, want: `missing properties`},
		{name: "a rewritten argument", schema: typed, args: `{"id":"x"}`, o: before(func(_ context.Context, c tools.Call) (tools.Call, string) {
			c.Arguments = json.RawMessage(`{"id":1}`)
			return c, ""
		}), want: "want \"string\""},
		{name: "the choice at the root holds", schema: `{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}`, args: `{}`, want: "oneOf"},
		{name: "it fails", run: func(context.Context, tools.Call) (tools.Result, error) { return result(" so far"), errors.New("kaput") }, want: "kaput so far"},
		{name: "it panics", run: func(context.Context, tools.Call) (tools.Result, error) { panic("secret") }, want: "a fault in the program that runs it"},
		{name: "it leaves", run: func(context.Context, tools.Call) (tools.Result, error) { runtime.Goexit(); return tools.Result{}, nil }, want: "without a result"},
		{name: "it brings an address", o: handle(func(r tools.Result) (tools.Result, error) { return r, nil }), run: func(context.Context, tools.Call) (tools.Result, error) {
			return tools.Result{Content: []tools.Content{{Text: "x"}, {Image: "http://127.0.0.1/x.png"}}}, nil
		}, want: "The result of this tool is withheld: piece 1 of the result is an image without a data URL. A tool gives"},
		{name: "a handler fails", o: handle(func(r tools.Result) (tools.Result, error) { return r, errors.New("x") }), want: "is withheld"},
		{name: "a handler panics", o: handle(func(tools.Result) (tools.Result, error) { panic("x") }), want: "is withheld"},
		{name: "a handler makes both", o: handle(func(tools.Result) (tools.Result, error) {
			return tools.Result{Content: []tools.Content{{Text: "x", Image: pixel}}}, nil
		}), want: "is withheld"},
		{name: "a handler brings a file", o: handle(func(tools.Result) (tools.Result, error) {
			return tools.Result{Content: []tools.Content{{Image: "/etc/passwd"}}}, nil
		}), want: "is withheld"},
	} {
		t.Run(test.name, func(t *testing.T) {
			with := []func(*tools.Spec){}
			if test.schema != "" {
				with = append(with, schema(test.schema))
			}
			run := test.run
			if run == nil {
				run = says("the result")
			}
			answers := 0
			test.o.After = append(test.o.After, func(context.Context, tools.Call, tools.Answer) { answers++ })
			got := newRunner(t, test.o, run, with...).Answer(t.Context(), call(test.args))
			checkFailure(t, got, test.want)
			if len(got.Items) > 1 && test.name != "it fails" || strings.Contains(strings.Join(texts(got), ""), "secret") || answers != 1 {
				t.Errorf("%d, %+v", answers, got)
			}
		})
	}
}

func TestUnknownToolIsAFailure(t *testing.T) {
	asked := 0
	p := &provider{specs: []tools.Spec{spec("a"), spec("b", inNamespace("n"))}, run: says("x")}
	c := tools.NewCatalogue(p)
	r := tools.NewRunner(c, tools.Options{Before: []tools.Before{func(_ context.Context, c tools.Call) (tools.Call, string) { asked++; return c, "" }}})
	defer r.Close()
	for _, missing := range []tools.Call{{Name: "z"}, {Name: "b"}, {Name: "a", Namespace: "n"}, {Name: "n__b"}, {}} {
		checkFailure(t, r.Answer(t.Context(), missing), "There is no tool")
	}
	if asked != 0 {
		t.Errorf("asked %d times", asked)
	}
	p.specs = append(p.specs, spec("z"))
	if got := r.Answer(t.Context(), tools.Call{Name: "z"}); !got.Success {
		t.Errorf("a tool that has come is not found: %+v", got)
	}
	c.Set()
	checkFailure(t, r.Answer(t.Context(), tools.Call{Name: "a"}), "There is no tool")
}

// A tool that ignores its timeout is abandoned.
func TestToolTimeouts(t *testing.T) {
	stubborn := func(done <-chan struct{}) func(context.Context, tools.Call) (tools.Result, error) {
		return func(context.Context, tools.Call) (tools.Result, error) { <-done; return result("too late"), nil }
	}
	obedient := func(<-chan struct{}) func(context.Context, tools.Call) (tools.Result, error) {
		return func(ctx context.Context, _ tools.Call) (tools.Result, error) {
			<-ctx.Done()
			return result("its words"), context.Cause(ctx)
		}
	}
	for _, test := range []struct {
		name   string
		args   string
		run    func(<-chan struct{}) func(context.Context, tools.Call) (tools.Result, error)
		cancel time.Duration
		cause  error
		took   time.Duration
		want   []string
	}{
		{"its own", `{}`, obedient, 0, nil, time.Minute, []string{"The tool was ended: it had no result within its timeout of 1m0s.", "its words"}},
		{"asked for", `{"timeoutMs":1500.9}`, obedient, 0, nil, 1500 * time.Millisecond, []string{"within its timeout of 1.5s.", "its words"}},
		{"a fraction", `{"timeoutMs":0.5}`, obedient, 0, nil, time.Millisecond, []string{"1ms", "its words"}},
		{"less than nothing", `{"timeoutMs":-5}`, obedient, 0, nil, time.Minute, []string{"1m0s", "its words"}},
		{"a text", `{"timeoutMs":"5"}`, obedient, 0, nil, time.Minute, []string{"1m0s", "its words"}},
		{"too much", `{"timeoutMs":1e300}`, obedient, 0, nil, time.Hour, []string{"1h0m0s", "its words"}},
		{"it does not end", `{"timeoutMs":1000}`, stubborn, 0, nil, 3 * time.Second, []string{"timeout of 1s"}},
		{"interrupted", `{}`, obedient, time.Second, nil, time.Second, []string{"The tool was ended: the turn was interrupted.", "its words"}},
		{"interrupted with a reason", `{}`, obedient, time.Second, errors.New("codex has gone"), time.Second, []string{"The tool was ended: codex has gone.", "its words"}},
		{"interrupted and it does not end", `{}`, stubborn, time.Second, nil, 3 * time.Second, []string{"interrupted"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				done := make(chan struct{})
				p := &provider{specs: []tools.Spec{spec("t1")}, timeout: time.Minute, run: test.run(done)}
				r := tools.NewRunner(tools.NewCatalogue(p), tools.Options{Limits: limits(time.Second, time.Hour)})
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if test.cancel > 0 {
					time.AfterFunc(test.cancel, func() { cancel(test.cause) })
				}
				began := time.Now()
				got := r.Answer(ctx, call(test.args))
				if took := time.Since(began); took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
				if len(got.Items) != len(test.want) {
					t.Fatalf("%+v", got)
				}
				for i, want := range test.want {
					if got.Success || !strings.Contains(got.Items[i].Text, want) {
						t.Errorf("%+v", got)
					}
				}
				close(done)
				r.Close()
			})
		})
	}
}

// The steps before a call and its handlers have a timeout too, and are abandoned after it.
func TestTimeoutsOfOtherSteps(t *testing.T) {
	for _, heeds := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			done := make(chan struct{})
			wait := func(ctx context.Context) {
				if !heeds {
					<-done
					return
				}
				<-ctx.Done()
			}
			before := newRunner(t, tools.Options{Limits: limits(time.Second, time.Minute), Before: []tools.Before{
				func(ctx context.Context, c tools.Call) (tools.Call, string) { wait(ctx); return c, "" },
			}}, says("x"))
			checkFailure(t, before.Answer(t.Context(), call("{}")), "its timeout passed")
			handler := newRunner(t, tools.Options{Limits: limits(time.Second, time.Minute), Handlers: []tools.Handler{
				func(ctx context.Context, _ tools.Call, r tools.Result) (tools.Result, error) {
					wait(ctx)
					return r, ctx.Err()
				},
			}}, says("x"))
			checkFailure(t, handler.Answer(t.Context(), call("{}")), "is withheld")
			close(done)
		})
	}
}

// After an interrupt no handler can run, so nothing of the tool's output is shown.
func TestInterruptHidesResultFromHandlers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newRunner(t, tools.Options{Handlers: []tools.Handler{
		func(context.Context, tools.Call, tools.Result) (tools.Result, error) { return result("public"), nil },
	}}, func(context.Context, tools.Call) (tools.Result, error) { cancel(); return result("secret"), nil })
	got := r.Answer(ctx, call("{}"))
	checkFailure(t, got, "The tool was ended: the turn was interrupted.")
	if strings.Contains(strings.Join(texts(got), ""), "secret") {
		t.Errorf("%+v", got)
	}
}

// Calls of one tool run in parallel up to the limit, tools do not share it, and a call that
// waits for its whole timeout fails.
func TestParallelCallsOfAToolAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most, other atomic.Int32
		p := &provider{specs: []tools.Spec{spec("t1"), spec("t2")}}
		p.run = func(ctx context.Context, call tools.Call) (tools.Result, error) {
			if call.Name == "t2" {
				other.Add(1)
				return result("x"), nil
			}
			n := now.Add(1)
			defer now.Add(-1)
			if n > most.Load() {
				most.Store(n)
			}
			select {
			case <-time.After(time.Second):
				return result("x"), nil
			case <-ctx.Done():
				return tools.Result{}, ctx.Err()
			}
		}
		r := tools.NewRunner(tools.NewCatalogue(p), tools.Options{})
		defer r.Close()
		var all sync.WaitGroup
		var ok, late atomic.Int32
		for i := range 50 {
			all.Go(func() {
				got := r.Answer(t.Context(), call(fmt.Sprintf(`{"i":%d,"timeoutMs":4500}`, i)))
				if got.Success {
					ok.Add(1)
				} else {
					checkFailure(t, got, "4.5s")
					late.Add(1)
				}
			})
		}
		all.Go(func() { r.Answer(t.Context(), tools.Call{Name: "t2"}) })
		all.Wait()
		if most.Load() != 8 || ok.Load() != 32 || late.Load() != 18 || other.Load() != 1 {
			t.Errorf("%d at once, %d answered, %d late, %d of another", most.Load(), ok.Load(), late.Load(), other.Load())
		}
	})
}

type blockedProvider struct {
	provider
	asked chan struct{}
	done  chan struct{}
}

func (m *blockedProvider) Specs() []tools.Spec { close(m.asked); <-m.done; return nil }

// A provider that blocks in Specs does not keep a call from being answered.
func TestBlockedProviderDoesNotBlockAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, interrupted := range []bool{true, false} {
			m := &blockedProvider{asked: make(chan struct{}), done: make(chan struct{})}
			r := tools.NewRunner(tools.NewCatalogue(m), tools.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			if interrupted {
				go func() { <-m.asked; cancel() }()
			}
			checkFailure(t, r.Answer(ctx, call("{}")), "The call was not run: ")
			cancel()
			close(m.done)
			r.Close()
		}
	})
}

// Close answers running and later calls.
func TestCloseAnswersRunningCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		r := newRunner(t, tools.Options{}, func(ctx context.Context, _ tools.Call) (tools.Result, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			ended = true
			return tools.Result{}, ctx.Err()
		})
		answered := make(chan tools.Answer, 1)
		go func() { answered <- r.Answer(context.Background(), call("{}")) }()
		synctest.Wait()
		r.Close()
		if !ended {
			t.Error("it still runs")
		}
		checkFailure(t, <-answered, "the bridge is shutting down")
		checkFailure(t, r.Answer(context.Background(), call("{}")), "the bridge is shutting down")
	})
}

// With concurrent calls, catalogue changes and Close, each call has one answer.
func TestEachConcurrentCallHasOneAnswer(t *testing.T) {
	p := &provider{specs: []tools.Spec{spec("t1")}, run: says("x")}
	c := tools.NewCatalogue(p)
	var after atomic.Int32
	r := tools.NewRunner(c, tools.Options{
		Limits: config.ToolLimits{Loops: true},
		After:  []tools.After{func(context.Context, tools.Call, tools.Answer) { after.Add(1) }},
	})
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			switch i % 4 {
			case 0:
				c.Set(p)
			case 1:
				c.Refresh()
			}
			ctx, cancel := context.WithCancel(t.Context())
			if i%3 == 0 {
				cancel()
			}
			defer cancel()
			if got := r.Answer(ctx, call("{}")); len(got.Items) == 0 {
				t.Errorf("%+v", got)
			}
		})
	}
	all.Wait()
	r.Close()
	if after.Load() != 100 {
		t.Errorf("%d answers", after.Load())
	}
}

// Repeats with the same outcome get a note, and are then refused. Each turn is counted
// separately.
func TestRepeatedCallsAreRefused(t *testing.T) {
	ran := 0
	r := newRunner(t, tools.Options{Limits: config.ToolLimits{Loops: true}}, func(context.Context, tools.Call) (tools.Result, error) {
		ran++
		return result("same"), nil
	})
	for i := range 30 {
		got := r.Answer(t.Context(), call(fmt.Sprintf(`{"a":1,%s"b":2}`, strings.Repeat(" ", i))))
		switch {
		case i < 10:
			if diff := cmp.Diff([]string{"same"}, texts(got)); diff != "" || !got.Success {
				t.Fatalf("%d: %s", i, diff)
			}
		case i < 20:
			if len(got.Items) != 2 || !strings.Contains(got.Items[0].Text, fmt.Sprintf("made %d times", i)) || got.Items[1].Text != "same" || !got.Success {
				t.Fatalf("%d: %+v", i, got)
			}
		default:
			checkFailure(t, got, "Refused")
		}
	}
	checkFailure(t, r.Answer(t.Context(), call(`{"b":2,"a":1}`)), "Stop here")
	if ran != 20 {
		t.Errorf("ran %d times", ran)
	}
	next := call(`{"a":1,"b":2}`)
	next.Turn = "next"
	if got := r.Answer(t.Context(), next); !got.Success {
		t.Errorf("%+v", got)
	}
	next.Name = "nothing"
	for range 10 {
		checkFailure(t, r.Answer(t.Context(), next), "There is no tool")
	}
	checkFailure(t, r.Answer(t.Context(), next), "does not exist; it has been called 10 times")
}

func BenchmarkAnswer(b *testing.B) {
	p := &provider{specs: []tools.Spec{spec("t1", schema(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`))}, run: says("x")}
	r := tools.NewRunner(tools.NewCatalogue(p), tools.Options{})
	defer r.Close()
	for b.Loop() {
		if got := r.Answer(b.Context(), call(`{"id":"x"}`)); !got.Success {
			b.Fatalf("%+v", got)
		}
	}
}
