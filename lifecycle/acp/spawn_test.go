package acp_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest/vectors"

	gocmp "github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/lifecycle/acp"
)

// vector is a spawn of the other implementation with its recorded steps.
type vector struct {
	Name  string
	Input struct {
		Params acp.Request
		Ctx    struct{ AgentSessionKey string }
		Cfg    struct{ Acp struct{ DefaultAgent string } }

		BindError, InitError, AgentError string
		AgentResult                      *struct{ RunID *string }
	}
	Result acp.Result
	Steps  []struct {
		Step, Mode, SpawnedBy, Message string
		Label, Cwd, ResumeSessionID    *string
	}
}

// played records the steps of a spawn under the other implementation's names.
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

// wanted returns the recorded steps of a vector.
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

// A failure after the agent has started undoes the spawn. No client can make the program's steps
// fail, so these cases of acp_spawn.json run here.
func TestFailedSpawnIsUndone(t *testing.T) {
	var all struct{ Cases []vector }
	vectors.Read(t, "acp_spawn.json", &all)
	for _, v := range all.Cases {
		if v.Input.BindError == "" && v.Input.AgentError == "" {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			agent := config.AgentID(cmp.Or(v.Input.Params.Agent, v.Input.Cfg.Acp.DefaultAgent))
			s := acp.Settings{Enabled: true, Default: agent, Agents: map[string][]string{agent: {"codex-acp"}}}
			p := &played{v: v}
			child, refused := s.Check(v.Input.Params, acp.Requester{Session: v.Input.Ctx.AgentSessionKey}, true)
			if refused != nil {
				t.Fatalf("%+v", refused)
			}
			got := acp.Spawn(t.Context(), p, child, v.Input.Params.Thread)
			if diff := gocmp.Diff(v.wanted(), p.steps); diff != "" {
				t.Errorf("steps (-want +got)\n%s", diff)
			}
			prefix := "agent:" + agent + ":acp:"
			if key := strings.TrimPrefix(got.Child, prefix); got.Child != "" && len(key) == 36 {
				got.Child = prefix + "<uuid>"
			}
			if diff := gocmp.Diff(v.Result, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestCheck covers what the vectors lack: the depth of agents, and the spelling of ids.
func TestCheck(t *testing.T) {
	s := acp.Settings{Enabled: true, Default: " Claude.Code ", Allowed: []string{"claude code"}, Agents: map[string][]string{"claude.code": {"x"}}}
	child, refused := s.Check(acp.Request{Task: "x"}, acp.Requester{Depth: acp.MaxDepth - 1}, false)
	if refused != nil || child.Agent != "claude-code" {
		t.Errorf("%+v, %+v", child, refused)
	}
	for _, who := range []acp.Requester{{Depth: acp.MaxDepth}, {Sandboxed: true}, {Unknown: true}} {
		if _, refused := s.Check(acp.Request{Task: "x"}, who, false); refused == nil || refused.Status != acp.Forbidden || strings.Contains(refused.Error, "whose sandbox the bridge does not know") != who.Unknown {
			t.Errorf("%+v: %+v", who, refused)
		}
	}
	if _, refused := s.Check(acp.Request{Task: "x", Thread: true}, acp.Requester{}, false); refused == nil || refused.Status != acp.Failed {
		t.Errorf("%+v", refused)
	}
	for id, want := range map[string]string{"": "", "A  b.": "a-b", "--": "", "ä": "", strings.Repeat("x", 80): strings.Repeat("x", 64), "a_b-c": "a_b-c"} {
		if got := config.AgentID(id); got != want {
			t.Errorf("%q: %q", id, got)
		}
	}
}
