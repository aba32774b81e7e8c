package acp_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/bridge/bridgetest/vectors"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/lifecycle/acp"
)

// journal is an in-memory log.
type journal struct {
	bytes.Buffer
	closed bool
}

func (j *journal) Close() error { j.closed = true; return nil }

type notice struct {
	Text       string `json:"text"`
	ContextKey string `json:"contextKey"`
}

// namesIn returns the run and the agent that the notices name.
func namesIn(events []notice) (run, agent string) {
	run, agent = "r1", "codex"
	for _, e := range events {
		if parts := strings.Split(e.ContextKey, ":"); len(parts) == 3 {
			run = parts[1]
		}
		if name, _, ok := strings.Cut(e.Text, ": "); ok && strings.HasSuffix(e.ContextKey, ":progress") {
			agent = name
		}
	}
	return run, agent
}

// The program's test runs the other cases of acp_parent_stream.json. These need short times instead
// of minutes and hours.
func TestStreamTimes(t *testing.T) {
	var all struct {
		Cases []struct {
			Name    string
			Options struct {
				EmitStartNotice, SurfaceUpdates                      *bool
				NoOutputNoticeMs, NoOutputPollMs, MaxRelayLifetimeMs int64
			}
			Script []struct {
				Ev *struct {
					Stream string
					Data   struct {
						Delta, Phase, Error string
						StartedAt, EndedAt  int64
					}
				}
				Wait    int64
				Dispose int
			}
			Events   []notice
			Wakes    int
			LogKinds []string
		}
	}
	vectors.Read(t, "acp_parent_stream.json", &all)
	if len(all.Cases) == 0 {
		t.Fatal("no cases")
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	for _, c := range all.Cases {
		if o := c.Options; o.NoOutputNoticeMs+o.NoOutputPollMs+o.MaxRelayLifetimeMs == 0 && o.SurfaceUpdates == nil {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run, agent := namesIn(c.Events)
				var told []notice
				var log journal
				s := acp.NewStream(acp.StreamOptions{
					Run: run, Parent: "p", Child: "c", Agent: agent, Log: &log,
					Notify: func(n acp.Notice) { told = append(told, notice{n.Text, n.Context}) },
					Quiet:  c.Options.SurfaceUpdates != nil && !*c.Options.SurfaceUpdates,
					Flush:  ms(20), Stall: ms(c.Options.NoOutputNoticeMs), Poll: ms(c.Options.NoOutputPollMs), Lifetime: ms(c.Options.MaxRelayLifetimeMs),
				})
				if c.Options.EmitStartNotice == nil || *c.Options.EmitStartNotice {
					s.Started()
				}
				for _, step := range c.Script {
					switch {
					case step.Ev != nil && step.Ev.Stream == "assistant":
						s.AddText(step.Ev.Data.Delta, step.Ev.Data.Phase == "commentary")
					case step.Ev != nil:
						s.Ended(ms(step.Ev.Data.EndedAt-step.Ev.Data.StartedAt), step.Ev.Data.Phase == "error", step.Ev.Data.Error)
					case step.Wait > 0:
						time.Sleep(ms(step.Wait))
						synctest.Wait()
					}
				}
				s.Dispose()
				for i := range told { // the wording of these is free
					if i < len(c.Events) && c.Events[i].Text == "<text>" && told[i].Text != "" {
						told[i].Text = "<text>"
					}
				}
				if diff := cmp.Diff(c.Events, append([]notice{}, told...)); diff != "" || len(told) != c.Wakes {
					t.Errorf("%d told (-want +got)\n%s", len(told), diff)
				}
				var kinds []string
				for line := range strings.Lines(log.String()) {
					var l struct{ Ts, Kind, RunID, ParentSessionKey, ChildSessionKey, AgentID string }
					if err := json.Unmarshal([]byte(line), &l); err != nil || l.Ts == "" || l.RunID+l.ParentSessionKey+l.ChildSessionKey+l.AgentID != run+"pc"+agent {
						t.Errorf("%s: %v", line, err)
					}
					kinds = append(kinds, l.Kind)
				}
				if diff := cmp.Diff(c.LogKinds, kinds); diff != "" {
					t.Errorf("the log (-want +got)\n%s", diff)
				}
				if !log.closed {
					t.Error("the log is left open")
				}
				s.AddText("late", false) // does not block
				s.Ended(0, false, "")
			})
		})
	}
}
