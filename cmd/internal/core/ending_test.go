package core

import (
	"context"
	"slices"
	"testing"
	"time"
)

// The state closes after parts that ignore their end, with its whole time, and its parts share that time.
func TestEndingLeavesTimeForState(t *testing.T) {
	deaf := make(chan struct{})
	defer close(deaf)
	var order []string
	e := Ending{Workers: []Part{{0, func(context.Context) { <-deaf }}}}
	e.Recorders = append(e.Recorders, Part{time.Hour, func(context.Context) { order = append(order, "recorder") }})
	var deadlines []time.Time
	end := func(name string) func(context.Context) {
		return func(ctx context.Context) {
			deadline, _ := ctx.Deadline()
			if order = append(order, name); ctx.Err() != nil {
				t.Errorf("%s has no time: %v", name, ctx.Err())
			}
			deadlines = append(deadlines, deadline)
		}
	}
	e.State = append(e.State, end("session"), end("transcript"))

	e.CloseParts()
	began := time.Now()
	e.CloseState(end("log"))
	if want := []string{"recorder", "session", "transcript", "log"}; !slices.Equal(order, want) {
		t.Errorf("closed %q, want %q", order, want)
	}
	if len(slices.Compact(slices.Clone(deadlines))) != 1 || deadlines[0].Before(began.Add(StateGrace)) {
		t.Errorf("began at %s, deadlines %s", began, deadlines)
	}
}

// A part gets the end of its grace, and what it does then is awaited.
func TestPartMayKillAfterItsGrace(t *testing.T) {
	killed := false
	CloseTogether([]Part{{time.Nanosecond, func(ctx context.Context) {
		<-ctx.Done()
		killed = true
	}}})
	if !killed {
		t.Error("the part was left before it could kill")
	}
}
