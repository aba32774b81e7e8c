package turn

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// The outcome does not depend on when SetTurn is called, as long as the events fit the buffer.
func TestOutcomeDoesNotDependOnSetTurn(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringMatching(`[ab ]{0,3}`)
		item := rapid.SampledFrom([]string{"", "x", "y"})
		events := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) Event {
			return Event{
				Kind: rapid.SampledFrom([]EventKind{EventTextAdded, EventMessage}).Draw(r, "kind"), Thread: "th",
				Turn:    rapid.SampledFrom([]string{"tu", "tu", "other"}).Draw(r, "turn"),
				Message: AgentMessage{Item: item.Draw(r, "item"), Text: text.Draw(r, "text")},
			}
		}), 0, 30).Draw(r, "events")
		events = append(events, Event{Kind: EventEnded, Thread: "th", Turn: "tu", Status: StatusCompleted})
		known := rapid.IntRange(0, len(events)).Draw(r, "known")
		collect := func(known int) Outcome {
			c := NewCollector("th")
			for i, e := range events {
				if i == known {
					c.SetTurn("tu")
				}
				c.Take(e)
			}
			c.SetTurn("tu")
			out, err := c.Wait(t.Context())
			if err != nil {
				r.Fatal(err)
			}
			return out
		}
		if first, late := collect(0), collect(known); first != late {
			r.Fatalf("%+v, and %+v when the id comes after %d", first, late, known)
		}
	})
}

// A turn that overflows the buffer and ends before SetTurn still ends.
func TestEndOfTurnIsBuffered(t *testing.T) {
	c := NewCollector("th")
	for i := range 1000 {
		c.Take(Event{Kind: EventTextAdded, Thread: "th", Turn: "tu", Message: AgentMessage{Text: fmt.Sprint(i % 10)}})
	}
	c.Take(Event{Kind: EventEnded, Thread: "th", Turn: "tu", Status: StatusCompleted, Messages: []AgentMessage{{Item: "last", Text: "whole"}}})
	c.SetTurn("tu")
	if out, err := c.Wait(t.Context()); err != nil || out.Text != "whole" {
		t.Errorf("%+v, %v", out, err)
	}
}

// A complete message is buffered, however many deltas came before it: all events of a turn may come
// before the response with its id.
func TestCompleteMessageIsBuffered(t *testing.T) {
	c := NewCollector("th")
	for i := range 300 {
		item := fmt.Sprint(i)
		for range i {
			c.Take(Event{Kind: EventTextAdded, Thread: "th", Turn: "tu", Message: AgentMessage{Item: item, Text: "part"}})
		}
		c.Take(Event{Kind: EventMessage, Thread: "th", Turn: "tu", Message: AgentMessage{Item: item, Text: "whole " + item}})
	}
	c.Take(Event{Kind: EventEnded, Thread: "th", Turn: "tu", Status: StatusCompleted})
	c.SetTurn("tu")
	if out, err := c.Wait(t.Context()); err != nil || out.Text != "whole 299" {
		t.Errorf("%+v, %v", out, err)
	}
}
