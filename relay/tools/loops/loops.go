// Package loops finds out that a model goes round in circles: that it calls a tool again
// and again with the same arguments, and nothing new comes of it.
//
// It promises a verdict on each call from the calls before it, and nothing else: it has
// no clock, runs nothing, and remembers as many calls as its window holds. A Watch is for
// one turn, and for one goroutine at a time.
package loops

import "fmt"

// Limits are numbers of calls.
type Limits struct {
	Window   int // that are remembered
	Warning  int // the same ones before the model is warned
	Unknown  int // of a tool that there is not, before it is refused
	Critical int // the same ones with the same outcome, before one more is refused
	Breaker  int // of these, refused ones among them, before the model is told to stop
}

// Default are the limits that are used when nothing else is said.
func Default() Limits {
	return Limits{Window: 30, Warning: 10, Unknown: 10, Critical: 20, Breaker: 30}
}

// Call is a call of a tool.
type Call struct {
	Tool      string
	Arguments string // or a digest of them
	Unknown   bool   // there is no such tool
	Poll      bool   // the tool is asked again and again by its nature
}

// same tells whether two calls ask for the same.
func (c Call) same(other Call) bool { return c.Tool == other.Tool && c.Arguments == other.Arguments }

// Level is what a verdict asks for.
type Level int

// The levels.
const (
	Pass  Level = iota
	Warn        // run it, and tell the model
	Block       // do not run it, and tell the model
)

// Verdict is what is thought of a call.
type Verdict struct {
	Level    Level
	Detector string // "unknown", "breaker", "poll", "pingPong", "repeat"; "" none
	Count    int    // the calls before that make it one
}

// Text tells the model.
func (v Verdict) Text() string {
	switch {
	case v.Level == Pass:
		return ""
	case v.Detector == "unknown":
		return fmt.Sprintf("This tool does not exist; it has been called %d times. Do not call it again.", v.Count)
	case v.Detector == "breaker":
		return fmt.Sprintf("Refused: the same call has been made %d times, and nothing came of it. Stop here, and tell the user what you are stuck at.", v.Count)
	case v.Detector == "pingPong" && v.Level == Block:
		return fmt.Sprintf("Refused: the last %d calls were two in turn, always with the same outcome. Do something else, or tell the user what you are stuck at.", v.Count)
	case v.Detector == "pingPong":
		return fmt.Sprintf("Note: the last %d calls were two in turn. If they bring nothing new, do something else.", v.Count)
	case v.Level == Block:
		return fmt.Sprintf("Refused: the same call has been made %d times, always with the same outcome. Do something else, or tell the user what you are stuck at.", v.Count)
	}
	return fmt.Sprintf("Note: the same call has been made %d times. If it brings nothing new, do something else.", v.Count)
}

// entry is a call of the past.
type entry struct {
	call    Call
	outcome string
	refused bool
}

// Watch watches the calls of a turn.
type Watch struct {
	limits  Limits
	entries []entry // the oldest first
}

// New makes a Watch.
func New(l Limits) *Watch { return &Watch{limits: l} }

// Judge tells what is thought of a call that is to be made.
func (w *Watch) Judge(c Call) Verdict {
	if c.Unknown {
		if n := w.count(func(e entry) bool { return e.call.Unknown && e.call.Tool == c.Tool }); n >= w.limits.Unknown {
			return Verdict{Block, "unknown", n}
		}
		return Verdict{}
	}
	stuck := w.stuck(c)
	turns, settled := w.turns(c)
	same := w.count(func(e entry) bool { return e.call.same(c) })
	repeat := "repeat"
	if c.Poll { // being asked often is in its nature, so that only the same outcome counts
		repeat, same = "poll", stuck
	}
	switch {
	case stuck >= w.limits.Breaker:
		return Verdict{Block, "breaker", stuck}
	case stuck >= w.limits.Critical:
		return Verdict{Block, repeat, stuck}
	case turns >= w.limits.Critical && settled:
		return Verdict{Block, "pingPong", turns}
	case turns >= w.limits.Warning:
		return Verdict{Warn, "pingPong", turns}
	case same >= w.limits.Warning:
		return Verdict{Warn, repeat, same}
	}
	return Verdict{}
}

// Made tells of a call that was made, and of its outcome, or a digest of that.
func (w *Watch) Made(c Call, outcome string) { w.add(entry{call: c, outcome: outcome}) }

// Refused tells of a call that was refused as one too many.
func (w *Watch) Refused(c Call) { w.add(entry{call: c, refused: true}) }

func (w *Watch) add(e entry) {
	w.entries = append(w.entries, e)
	if over := len(w.entries) - w.limits.Window; over > 0 {
		w.entries = append(w.entries[:0], w.entries[over:]...)
	}
}

func (w *Watch) count(is func(entry) bool) int {
	n := 0
	for _, e := range w.entries {
		if is(e) {
			n++
		}
	}
	return n
}

// stuck is how often c was called, up to now, without another outcome than the last. To
// be refused is no other outcome.
func (w *Watch) stuck(c Call) int {
	n, outcome := 0, ""
	known := false
	for i := len(w.entries) - 1; i >= 0; i-- {
		e := w.entries[i]
		switch {
		case !e.call.same(c):
			continue
		case e.refused:
		case !known:
			outcome, known = e.outcome, true
		case e.outcome != outcome:
			return n
		}
		n++
	}
	return n
}

// turns is how many calls up to now were two in turn that c goes on with, and whether
// each of them has had one outcome only.
func (w *Watch) turns(c Call) (n int, settled bool) {
	last := len(w.entries) - 1
	if last < 1 || w.entries[last].call.same(c) || !w.entries[last-1].call.same(c) {
		return 0, false
	}
	settled = true
	var outcomes [2]*string
	for i := last; i >= 0; i-- {
		e := w.entries[i]
		side := n % 2
		if !e.call.same(w.entries[last-side].call) {
			break
		}
		n++
		if e.refused {
			continue
		}
		if outcomes[side] == nil {
			outcomes[side] = &e.outcome
		}
		settled = settled && *outcomes[side] == e.outcome
	}
	return n, settled
}
