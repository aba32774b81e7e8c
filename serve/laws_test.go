package serve

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/rpc"
)

func params(t *rapid.T, members map[string]string) rpc.Value {
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := rpc.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func joinedClient(s *Clients) *Client {
	c := s.NewClient(ClientOptions{IsOwnTool: func(rpc.Value) bool { return false }})
	c.Join()
	return c
}

// After any events one client answers each request, or all decline it. The answer for a person comes from
// the client that began the turn.
func TestOneClientAnswers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parents := map[string]string{"child": "thread 0"}
		s := NewClients(ClientsOptions{Parent: func(id string) string { return parents[id] }, Log: slog.New(slog.DiscardHandler)})
		var all []*Client
		began := make(map[string]*Client) // the model: who began which turn
		running := make(map[string]string)
		turns := 0
		pick := func() *Client { return rapid.SampledFrom(all).Draw(t, "client") }
		thread := func() string { return fmt.Sprint("thread ", rapid.IntRange(0, 1).Draw(t, "thread")) }
		all = append(all, joinedClient(s))
		t.Repeat(map[string]func(*rapid.T){
			"join": func(t *rapid.T) {
				if len(all) == 4 {
					t.Skip()
				}
				all = append(all, joinedClient(s))
			},
			"leave": func(t *rapid.T) {
				if len(all) == 1 {
					t.Skip()
				}
				c := pick()
				all = slices.DeleteFunc(all, func(one *Client) bool { return one == c })
				c.Leave()
			},
			"open":        func(*rapid.T) { pick().opened(thread(), false) },
			"unsubscribe": func(*rapid.T) { pick().closed(thread()) },
			"turn": func(t *rapid.T) {
				c, id := pick(), thread()
				open := s.threads[id]
				if open == nil || !slices.Contains(open.clients, c) {
					t.Skip()
				}
				turns++
				running[id] = fmt.Sprint("turn ", turns)
				s.beginLocked(running[id], c, open)
				began[running[id]] = c
			},
			"": func(t *rapid.T) {
				for _, id := range []string{"thread 0", "thread 1", "child"} {
					open := s.find(id)
					if open == nil {
						continue
					}
					root := id
					if id == "child" {
						root = parents[id]
					}
					turn := running[root]
					for _, method := range append(slices.Clone(forPerson), toolCall, "currentTime/read") {
						answering, declining := 0, 0
						for _, c := range open.clients { // Codex asks these
							switch plays, _, _ := c.part(method, params(t, map[string]string{"threadId": id, "turnId": turn})); plays {
							case answers:
								answering++
								if slices.Contains(forPerson, method) && turn != "" && began[turn] != c {
									t.Fatalf("%s is answered by a client that did not begin the turn", method)
								}
							case declines:
								declining++
							}
						}
						if answering > 1 || answering == 0 && declining != len(open.clients) || answering > 0 && declining > 0 {
							t.Fatalf("%s in %s: %d clients answer, %d decline", method, id, answering, declining)
						}
					}
				}
			},
		})
	})
}
