package tools

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/gowebpki/jcs"
)

// The numbers of calls in a turn at which a model is warned of a loop, or stopped.
const (
	loopWindow   = 30 // remembered calls
	loopWarning  = 10 // equal or alternating calls before the model is warned
	loopUnknown  = 10 // calls of a missing tool before the next is refused
	loopCritical = 20 // equal calls with equal outcomes before the next is refused
	loopBreaker  = 30 // the same, refused calls included, before the model is told to stop
)

// attempt is a call as a loopDetector compares it.
type attempt struct {
	tool      string
	arguments string // a digest
	unknown   bool   // the tool does not exist
}

func newAttempt(call Call, unknown bool) attempt {
	text, err := jcs.Transform(call.Arguments)
	if err != nil {
		text = call.Arguments
	}
	digest := sha256.Sum256(text)
	return attempt{codeModeName(call.Namespace, call.Name), string(digest[:]), unknown}
}

// same reports whether two attempts call a tool with the same arguments.
func (a attempt) same(b attempt) bool { return a.tool == b.tool && a.arguments == b.arguments }

// loopAction is what a verdict demands.
type loopAction int

const (
	loopNone  loopAction = iota
	loopWarn             // run the call, and warn the model
	loopBlock            // refuse the call
)

// loopVerdict is the decision about one call.
type loopVerdict struct {
	action   loopAction
	detector string // "unknown", "breaker", "pingPong", "repeat"; "" for loopNone
	count    int    // the earlier calls on which the verdict rests
}

// text returns the message for the model; "" for loopNone.
func (v loopVerdict) text() string {
	switch {
	case v.action == loopNone:
		return ""
	case v.detector == "unknown":
		return fmt.Sprintf("This tool does not exist; it has been called %d times. Do not call it again.", v.count)
	case v.detector == "breaker":
		return fmt.Sprintf("Refused: the same call has been made %d times, and nothing came of it. Stop here, and tell the user what you are stuck at.", v.count)
	case v.detector == "pingPong" && v.action == loopBlock:
		return fmt.Sprintf("Refused: the last %d calls were two in turn, always with the same outcome. Do something else, or tell the user what you are stuck at.", v.count)
	case v.detector == "pingPong":
		return fmt.Sprintf("Note: the last %d calls were two in turn. If they bring nothing new, do something else.", v.count)
	case v.action == loopBlock:
		return fmt.Sprintf("Refused: the same call has been made %d times, always with the same outcome. Do something else, or tell the user what you are stuck at.", v.count)
	}
	return fmt.Sprintf("Note: the same call has been made %d times. If it brings nothing new, do something else.", v.count)
}

// loopDetector judges each call of one turn by the calls before it. It has no clock.
type loopDetector struct {
	past []pastCall // oldest first
}

type pastCall struct {
	attempt
	outcome string // a digest; "" if it was refused
	refused bool
}

// judge decides about the next call. It records nothing.
func (d *loopDetector) judge(a attempt) loopVerdict {
	if a.unknown {
		if n := d.count(func(p pastCall) bool { return p.unknown && p.tool == a.tool }); n >= loopUnknown {
			return loopVerdict{loopBlock, "unknown", n}
		}
		return loopVerdict{}
	}
	stuck := d.stuck(a)
	alternating, settled := d.alternating(a)
	same := d.count(func(p pastCall) bool { return p.same(a) })
	switch {
	case stuck >= loopBreaker:
		return loopVerdict{loopBlock, "breaker", stuck}
	case stuck >= loopCritical:
		return loopVerdict{loopBlock, "repeat", stuck}
	case alternating >= loopCritical && settled:
		return loopVerdict{loopBlock, "pingPong", alternating}
	case alternating >= loopWarning:
		return loopVerdict{loopWarn, "pingPong", alternating}
	case same >= loopWarning:
		return loopVerdict{loopWarn, "repeat", same}
	}
	return loopVerdict{}
}

// ran records a call that ran, with its outcome.
func (d *loopDetector) ran(a attempt, outcome string) { d.add(pastCall{attempt: a, outcome: outcome}) }

// refuse records a call that was refused.
func (d *loopDetector) refuse(a attempt) { d.add(pastCall{attempt: a, refused: true}) }

func (d *loopDetector) add(p pastCall) {
	d.past = append(d.past, p)
	if over := len(d.past) - loopWindow; over > 0 {
		d.past = append(d.past[:0], d.past[over:]...)
	}
}

func (d *loopDetector) count(is func(pastCall) bool) int {
	n := 0
	for _, p := range d.past {
		if is(p) {
			n++
		}
	}
	return n
}

// stuck returns how many of the last equal calls had the same outcome. A refused call has every
// outcome.
func (d *loopDetector) stuck(a attempt) int {
	n, outcome := 0, ""
	known := false
	for i := len(d.past) - 1; i >= 0; i-- {
		p := d.past[i]
		switch {
		case !p.same(a):
			continue
		case p.refused:
		case !known:
			outcome, known = p.outcome, true
		case p.outcome != outcome:
			return n
		}
		n++
	}
	return n
}

// alternating returns how many of the last calls alternated between a and another call, and whether
// each of the two always had the same outcome.
func (d *loopDetector) alternating(a attempt) (n int, settled bool) {
	last := len(d.past) - 1
	if last < 1 || d.past[last].same(a) || !d.past[last-1].same(a) {
		return 0, false
	}
	settled = true
	var outcomes [2]*string
	for i := last; i >= 0; i-- {
		p := d.past[i]
		side := n % 2
		if !p.same(d.past[last-side].attempt) {
			break
		}
		n++
		if p.refused {
			continue
		}
		if outcomes[side] == nil {
			outcomes[side] = &p.outcome
		}
		settled = settled && *outcomes[side] == p.outcome
	}
	return n, settled
}

// maxDetectors bounds the threads whose running turn has a loopDetector.
const maxDetectors = 1024

// loopDetectors has a loopDetector for the running turn of each thread. Several goroutines may call
// it.
type loopDetectors struct {
	mu    sync.Mutex
	turns map[string]*turnDetector // by thread
}

type turnDetector struct {
	turn string
	loopDetector
}

func (l *loopDetectors) of(call Call) *loopDetector {
	if t := l.turns[call.Thread]; t != nil && t.turn == call.Turn {
		return &t.loopDetector
	}
	if len(l.turns) >= maxDetectors {
		for thread := range l.turns { // any one: at worst a loop runs longer
			delete(l.turns, thread)
			break
		}
	}
	t := &turnDetector{call.Turn, loopDetector{}}
	l.turns[call.Thread] = t
	return &t.loopDetector
}

// judge decides about a call. It records a call that it refuses.
func (l *loopDetectors) judge(call Call, a attempt) loopVerdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	detector := l.of(call)
	v := detector.judge(a)
	if v.action == loopBlock {
		detector.refuse(a)
	}
	return v
}

// ran records a call that ran, with its answer.
func (l *loopDetectors) ran(call Call, a attempt, answer Answer) {
	text, _ := json.Marshal(answer) // cannot fail: strings
	outcome := sha256.Sum256(text)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(call).ran(a, string(outcome[:]))
}
