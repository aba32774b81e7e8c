package acp_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"codex-bridge/bridge/bridgetest/vectors"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/config"
	"codex-bridge/lifecycle/acp"
)

// vector is a spawn of the other implementation's, and what was seen of it.
type vector struct {
	Name  string
	Input struct {
		Params acp.Request
		Ctx    struct{ AgentSessionKey, AgentChannel, AgentTo string }
		Cfg    struct {
			Acp *struct {
				Enabled       *bool
				DefaultAgent  string
				AllowedAgents []string
			}
		}
		RequesterSandboxed               bool
		Tb                               *struct{ Enabled bool }
		Caps                             *struct{ AdapterAvailable bool }
		BindError, InitError, AgentError string
		AgentResult                      *struct{ RunID *string }
	}
	Result acp.Result
	Steps  []struct {
		Step, Mode, SpawnedBy, Message string
		Label, Cwd, ResumeSessionID    *string
	}
}

// played are the steps of a spawn, as the other implementation calls them.
type played struct {
	v     vector
	steps []string
	child acp.Child
	key   string
}

func (p *played) note(step string) { p.steps = append(p.steps, step) }

func (p *played) Create(ctx context.Context, c acp.Child) error {
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("no limit")
	}
	p.child = c
	p.note("gateway:sessions.patch " + c.SpawnedBy + " " + c.Label)
	return nil
}

func (p *played) Initialize(_ context.Context, c acp.Child) error {
	p.note("initializeSession " + map[acp.Mode]string{acp.Run: "oneshot", acp.Session: "persistent"}[c.Mode] + " " + c.Resume + " " + c.Cwd)
	return failure(p.v.Input.InitError)
}

func (p *played) Bind(context.Context, acp.Child) error {
	p.note("bind")
	return failure(p.v.Input.BindError)
}

func (p *played) Relay(_ acp.Child, run string) (acp.Relay, string) {
	if run == "run-9" {
		p.note("relay-start run-9")
	} else {
		p.note("relay-start <idempotency key>")
		p.key = run
	}
	return p, "/logs/s.acp-stream.jsonl"
}

func (p *played) Started() { p.note("relay-notify-started") }
func (p *played) Dispose() { p.note("relay-dispose") }

func (p *played) Dispatch(ctx context.Context, c acp.Child, key string) (string, error) {
	if _, ok := ctx.Deadline(); !ok || key == "" || p.key != "" && key != p.key {
		return "", errors.New("no limit, or another key")
	}
	p.key = key
	p.note("gateway:agent " + c.Task)
	if p.v.Input.AgentResult != nil {
		return "", nil
	}
	return "run-9", failure(p.v.Input.AgentError)
}

func (p *played) Clean(_ acp.Child, noted bool) {
	p.note("cleanup")
	if !noted {
		p.note("nothing was noted")
	}
}

func failure(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

// place is the host of the vectors: where it has no room, in their order.
func (v vector) place() acp.Place {
	return acp.Place{Prepare: func(acp.Requester) error {
		switch in := v.Input; {
		case in.Ctx.AgentChannel == "":
			return errors.New("no channel")
		case in.Tb != nil && !in.Tb.Enabled:
			return errors.New("<thread bindings disabled>")
		case in.Caps != nil && !in.Caps.AdapterAvailable:
			return errors.New("no adapter")
		case in.Ctx.AgentTo == "":
			return errors.New("no conversation")
		}
		return nil
	}}
}

// wanted are the steps that were seen, in the words of played.
func (v vector) wanted() []string {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	var all []string
	for _, s := range v.Steps {
		switch s.Step {
		case "gateway:sessions.patch":
			all = append(all, s.Step+" "+s.SpawnedBy+" "+text(s.Label))
		case "initializeSession":
			all = append(all, s.Step+" "+s.Mode+" "+text(s.ResumeSessionID)+" "+text(s.Cwd))
		case "gateway:agent":
			all = append(all, s.Step+" "+s.Message)
		case "relay-start":
			run := "<idempotency key>"
			if len(all) > 0 && all[len(all)-1] == "relay-dispose" {
				run = "run-9"
			}
			all = append(all, s.Step+" "+run)
		default:
			all = append(all, s.Step)
		}
	}
	return all
}

func TestSpawnVectors(t *testing.T) {
	var all struct {
		Policy []struct {
			Config  struct{ Acp *struct{ Enabled *bool } }
			Enabled bool
		}
		AllowedAgents []struct {
			AllowedAgents []string
			AgentID       string
			Allowed       bool
		}
		Cases []vector
	}
	vectors.Read(t, "acp_spawn.json", &all)
	if len(all.Cases) == 0 || len(all.Policy) == 0 || len(all.AllowedAgents) == 0 {
		t.Fatal("no cases")
	}
	agents := map[string][]string{"codex": {"codex-acp"}}
	for _, c := range all.AllowedAgents {
		_, refused := acp.Settings{Enabled: true, Allowed: c.AllowedAgents, Agents: agents}.Check(acp.Request{Task: "x", Agent: c.AgentID}, acp.Requester{}, acp.Place{})
		if (refused == nil) != c.Allowed || refused != nil && refused.Status != acp.Forbidden {
			t.Errorf("%q of %q: %+v", c.AgentID, c.AllowedAgents, refused)
		}
	}
	for _, c := range all.Policy {
		enabled := c.Config.Acp == nil || c.Config.Acp.Enabled == nil || *c.Config.Acp.Enabled
		_, refused := acp.Settings{Enabled: enabled, Default: "codex", Agents: agents}.Check(acp.Request{Task: "x"}, acp.Requester{}, acp.Place{})
		if (refused == nil) != c.Enabled || refused != nil && refused.Status != acp.Forbidden {
			t.Errorf("%+v: %+v", c, refused)
		}
	}
	for _, v := range all.Cases {
		t.Run(v.Name, func(t *testing.T) {
			s := acp.Settings{Enabled: true, Agents: agents}
			if c := v.Input.Cfg.Acp; c != nil {
				s.Enabled, s.Default, s.Allowed = c.Enabled == nil || *c.Enabled, c.DefaultAgent, c.AllowedAgents
			}
			p := &played{v: v}
			who := acp.Requester{Session: v.Input.Ctx.AgentSessionKey, Sandboxed: v.Input.RequesterSandboxed}
			var got acp.Result
			child, refused := s.Check(v.Input.Params, who, v.place())
			if refused != nil {
				got = *refused
			} else {
				got = acp.Spawn(t.Context(), p, child, v.Input.Params.Thread)
			}
			if diff := cmp.Diff(v.wanted(), p.steps); diff != "" {
				t.Errorf("steps (-want +got)\n%s", diff)
			}
			if key := strings.TrimPrefix(got.Child, "agent:codex:acp:"); got.Child != "" && len(key) == 36 {
				got.Child = "agent:codex:acp:<uuid>"
			}
			if got.Run != "" && got.Run == p.key {
				got.Run = "<idempotency key>"
			}
			if got.Note != "" {
				got.Note = map[acp.Mode]string{acp.Run: "<run note>", acp.Session: "<session note>"}[got.Mode]
			}
			if want := v.Result.Error; strings.HasPrefix(want, "<text") && got.Error != "" {
				got.Error = want
			}
			if diff := cmp.Diff(v.Result, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// What the vectors do not know: how deep agents may start agents, and ids in any spelling.
func TestCheck(t *testing.T) {
	s := acp.Settings{Enabled: true, Default: " Claude.Code ", Allowed: []string{"claude code"}, Agents: map[string][]string{"claude.code": {"x"}}}
	child, refused := s.Check(acp.Request{Task: "x"}, acp.Requester{Depth: acp.DeepestNesting - 1}, acp.Place{})
	if refused != nil || child.Agent != "claude-code" {
		t.Errorf("%+v, %+v", child, refused)
	}
	for _, who := range []acp.Requester{{Depth: acp.DeepestNesting}, {Sandboxed: true}} {
		if _, refused := s.Check(acp.Request{Task: "x"}, who, acp.Place{}); refused == nil || refused.Status != acp.Forbidden {
			t.Errorf("%+v: %+v", who, refused)
		}
	}
	if _, refused := s.Check(acp.Request{Task: "x", Thread: true}, acp.Requester{}, acp.Place{}); refused == nil || refused.Status != acp.Failed {
		t.Errorf("%+v", refused)
	}
	for id, want := range map[string]string{"": "", "A  b.": "a-b", "--": "", "ä": "", strings.Repeat("x", 80): strings.Repeat("x", 64), "a_b-c": "a_b-c"} {
		if got := config.AgentID(id); got != want {
			t.Errorf("%q: %q", id, got)
		}
	}
}
