package tools

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// history is n rounds of the same calls, with equal or always different outcomes.
type history struct {
	n      int
	of     []attempt
	change bool
}

var (
	a     = attempt{tool: "a", arguments: "1"}
	a2    = attempt{tool: "a", arguments: "2"}
	b     = attempt{tool: "b", arguments: "1"}
	ghost = attempt{tool: "g", unknown: true}
	ghos2 = attempt{tool: "g", unknown: true, arguments: "2"}
	spook = attempt{tool: "h", unknown: true}
)

func TestLoopDetector(t *testing.T) {
	one := func(n int, c attempt) history { return history{n: n, of: []attempt{c}} }
	for _, test := range []struct {
		name    string
		history []history
		call    attempt
		want    loopVerdict
	}{
		{"nothing before", nil, a, loopVerdict{}},
		{"below the warning", []history{one(9, a)}, a, loopVerdict{}},
		{"the warning", []history{one(10, a)}, a, loopVerdict{action: loopWarn, detector: "repeat", count: 10}},
		{"other arguments", []history{one(20, a)}, a2, loopVerdict{}},
		{"another tool", []history{one(20, a)}, b, loopVerdict{}},
		{"scattered ones are counted", []history{one(5, a), one(3, b), one(5, a)}, a, loopVerdict{action: loopWarn, detector: "repeat", count: 10}},
		{"below the critical", []history{one(19, a)}, a, loopVerdict{action: loopWarn, detector: "repeat", count: 19}},
		{"the critical", []history{one(20, a)}, a, loopVerdict{action: loopBlock, detector: "repeat", count: 20}},
		{"with other outcomes there is only a warning", []history{{25, []attempt{a}, true}}, a, loopVerdict{action: loopWarn, detector: "repeat", count: 25}},
		{"one other outcome begins anew", []history{one(10, a), {1, []attempt{a}, true}, one(12, a)}, a, loopVerdict{action: loopWarn, detector: "repeat", count: 23}},
		{"the breaker", []history{one(30, a)}, a, loopVerdict{action: loopBlock, detector: "breaker", count: 30}},
		{"what is out of the window is forgotten", []history{one(21, a), one(11, b), one(9, a2)}, a, loopVerdict{action: loopWarn, detector: "repeat", count: 10}},
		{"unknown, below", []history{one(9, ghost)}, ghost, loopVerdict{}},
		{"unknown", []history{one(5, ghost), one(5, ghos2)}, ghost, loopVerdict{action: loopBlock, detector: "unknown", count: 10}},
		{"another that is unknown", []history{one(10, ghost)}, spook, loopVerdict{}},
		{"two in turn, below", []history{{4, []attempt{a, b}, false}}, a, loopVerdict{}},
		{"two in turn", []history{{5, []attempt{a, b}, false}}, a, loopVerdict{action: loopWarn, detector: "pingPong", count: 10}},
		{"two in turn, the other next", []history{{5, []attempt{a, b}, false}}, b, loopVerdict{}},
		{"two in turn, for long", []history{{10, []attempt{a, b}, false}}, a, loopVerdict{action: loopBlock, detector: "pingPong", count: 20}},
		{"two in turn, with news", []history{{10, []attempt{a, b}, true}}, a, loopVerdict{action: loopWarn, detector: "pingPong", count: 20}},
		{"two in turn after something else", []history{one(1, a2), {5, []attempt{a, b}, false}}, a, loopVerdict{action: loopWarn, detector: "pingPong", count: 10}},
		{"three in turn", []history{{9, []attempt{a, b, a2}, false}}, a, loopVerdict{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &loopDetector{}
			outcomes := 0
			for _, h := range test.history {
				for range h.n {
					for _, c := range h.of {
						if h.change {
							outcomes++
						}
						d.ran(c, fmt.Sprint(h.change, outcomes))
					}
				}
			}
			got := d.judge(test.call)
			if got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
			if (got.text() != "") != (got.action != loopNone) {
				t.Errorf("%q", got.text())
			}
		})
	}
}

// Refused calls count for the breaker. Other calls in between end the loop.
func TestLoopDetectorCountsRefusedCalls(t *testing.T) {
	d := &loopDetector{}
	ran := 0
	for range 40 {
		if d.judge(a).action == loopBlock {
			d.refuse(a)
		} else {
			d.ran(a, "x")
			ran++
		}
	}
	if got := d.judge(a); ran != 20 || got.detector != "breaker" {
		t.Errorf("%d ran, then %+v", ran, got)
	}
	for range 11 {
		d.ran(b, "y")
	}
	if got := d.judge(a); got.action == loopBlock {
		t.Errorf("%+v", got)
	}
}

// A call with always new outcomes is never refused, and one with always the same outcome is refused
// in the end.
func TestLoopDetectorLetsProgressRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &loopDetector{}
		for i := range rapid.IntRange(0, 100).Draw(t, "calls") {
			c := attempt{tool: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "tool")}
			if v := d.judge(c); v.action == loopBlock {
				t.Fatalf("%+v", v)
			}
			d.ran(c, fmt.Sprint(i))
		}
		stubborn := attempt{tool: rapid.SampledFrom([]string{"a", "d"}).Draw(t, "stubborn")}
		ran := 0
		for d.judge(stubborn).action != loopBlock {
			d.ran(stubborn, "same")
			if ran++; ran > loopCritical {
				t.Fatal("runs for ever")
			}
		}
	})
}
