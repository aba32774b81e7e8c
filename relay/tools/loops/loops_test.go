package loops_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge/relay/tools/loops"
)

// calls is a history: n times each of what is called in turn, with outcomes that are
// the same, or never.
type calls struct {
	n      int
	of     []loops.Call
	change bool
}

var (
	a     = loops.Call{Tool: "a", Arguments: "1"}
	a2    = loops.Call{Tool: "a", Arguments: "2"}
	b     = loops.Call{Tool: "b", Arguments: "1"}
	poll  = loops.Call{Tool: "p", Poll: true}
	ghost = loops.Call{Tool: "g", Unknown: true}
	ghos2 = loops.Call{Tool: "g", Unknown: true, Arguments: "2"}
	spook = loops.Call{Tool: "h", Unknown: true}
)

func TestJudge(t *testing.T) {
	one := func(n int, c loops.Call) calls { return calls{n: n, of: []loops.Call{c}} }
	for _, test := range []struct {
		name    string
		history []calls
		call    loops.Call
		want    loops.Verdict
	}{
		{"nothing before", nil, a, loops.Verdict{}},
		{"below the warning", []calls{one(9, a)}, a, loops.Verdict{}},
		{"the warning", []calls{one(10, a)}, a, loops.Verdict{Level: loops.Warn, Detector: "repeat", Count: 10}},
		{"other arguments", []calls{one(20, a)}, a2, loops.Verdict{}},
		{"another tool", []calls{one(20, a)}, b, loops.Verdict{}},
		{"scattered ones are counted", []calls{one(5, a), one(3, b), one(5, a)}, a, loops.Verdict{Level: loops.Warn, Detector: "repeat", Count: 10}},
		{"below the critical", []calls{one(19, a)}, a, loops.Verdict{Level: loops.Warn, Detector: "repeat", Count: 19}},
		{"the critical", []calls{one(20, a)}, a, loops.Verdict{Level: loops.Block, Detector: "repeat", Count: 20}},
		{"with other outcomes there is only a warning", []calls{{25, []loops.Call{a}, true}}, a, loops.Verdict{Level: loops.Warn, Detector: "repeat", Count: 25}},
		{"one other outcome begins anew", []calls{one(10, a), {1, []loops.Call{a}, true}, one(12, a)}, a, loops.Verdict{Level: loops.Warn, Detector: "repeat", Count: 23}},
		{"the breaker", []calls{one(30, a)}, a, loops.Verdict{Level: loops.Block, Detector: "breaker", Count: 30}},
		{"what is out of the window is forgotten", []calls{one(21, a), one(11, b), one(9, a2)}, a, loops.Verdict{Level: loops.Warn, Detector: "repeat", Count: 10}},
		{"unknown, below", []calls{one(9, ghost)}, ghost, loops.Verdict{}},
		{"unknown", []calls{one(5, ghost), one(5, ghos2)}, ghost, loops.Verdict{Level: loops.Block, Detector: "unknown", Count: 10}},
		{"another that is unknown", []calls{one(10, ghost)}, spook, loops.Verdict{}},
		{"a poll with news", []calls{{25, []loops.Call{poll}, true}}, poll, loops.Verdict{}},
		{"a poll without", []calls{one(10, poll)}, poll, loops.Verdict{Level: loops.Warn, Detector: "poll", Count: 10}},
		{"a poll without for long", []calls{one(20, poll)}, poll, loops.Verdict{Level: loops.Block, Detector: "poll", Count: 20}},
		{"two in turn, below", []calls{{4, []loops.Call{a, b}, false}}, a, loops.Verdict{}},
		{"two in turn", []calls{{5, []loops.Call{a, b}, false}}, a, loops.Verdict{Level: loops.Warn, Detector: "pingPong", Count: 10}},
		{"two in turn, the other next", []calls{{5, []loops.Call{a, b}, false}}, b, loops.Verdict{}},
		{"two in turn, for long", []calls{{10, []loops.Call{a, b}, false}}, a, loops.Verdict{Level: loops.Block, Detector: "pingPong", Count: 20}},
		{"two in turn, with news", []calls{{10, []loops.Call{a, b}, true}}, a, loops.Verdict{Level: loops.Warn, Detector: "pingPong", Count: 20}},
		{"two in turn after something else", []calls{one(1, a2), {5, []loops.Call{a, b}, false}}, a, loops.Verdict{Level: loops.Warn, Detector: "pingPong", Count: 10}},
		{"three in turn", []calls{{9, []loops.Call{a, b, a2}, false}}, a, loops.Verdict{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := loops.New(loops.Default())
			outcomes := 0
			for _, h := range test.history {
				for range h.n {
					for _, c := range h.of {
						if h.change {
							outcomes++
						}
						w.Made(c, fmt.Sprint(h.change, outcomes))
					}
				}
			}
			got := w.Judge(test.call)
			if got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
			if (got.Text() != "") != (got.Level != loops.Pass) {
				t.Errorf("%q", got.Text())
			}
		})
	}
}

// A model that does not listen comes to the breaker, by what was refused, too, and gets
// out by doing something else.
func TestRefusedCallsCount(t *testing.T) {
	w := loops.New(loops.Default())
	ran := 0
	for range 40 {
		if w.Judge(a).Level == loops.Block {
			w.Refused(a)
		} else {
			w.Made(a, "x")
			ran++
		}
	}
	if got := w.Judge(a); ran != 20 || got.Detector != "breaker" {
		t.Errorf("%d ran, then %+v", ran, got)
	}
	for range 11 {
		w.Made(b, "y")
	}
	if got := w.Judge(a); got.Level == loops.Block {
		t.Errorf("%+v", got)
	}
}

// Whatever the calls are: nothing is refused to whom something new comes of them, and
// nothing runs for ever to whom not.
func TestProgress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := loops.New(loops.Default())
		for i := range rapid.IntRange(0, 100).Draw(t, "calls") {
			c := loops.Call{Tool: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "tool"), Poll: rapid.Bool().Draw(t, "poll")}
			if v := w.Judge(c); v.Level == loops.Block {
				t.Fatalf("%+v", v)
			}
			w.Made(c, fmt.Sprint(i))
		}
		stubborn := loops.Call{Tool: rapid.SampledFrom([]string{"a", "d"}).Draw(t, "stubborn")}
		ran := 0
		for w.Judge(stubborn).Level != loops.Block {
			w.Made(stubborn, "same")
			if ran++; ran > loops.Default().Critical {
				t.Fatal("runs for ever")
			}
		}
	})
}
