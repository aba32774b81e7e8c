package guard

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
)

// A tool call that names an agent of another session is refused, in any member and spelling. A text
// for an agent, and a tool of a server, may contain any id.
func TestAgentOfAnotherSession(t *testing.T) {
	const id = "01900000-0000-7000-8000-00000000000"
	const own, ownChild, other, otherChild, silent = id + "a", id + "b", id + "c", id + "d", id + "e" // nothing tells the settings of silent
	w := newAgentWorld(t, nil)
	settings := `{"type":"turn_context","payload":{"turn_id":"u","cwd":"` + w.root +
		`","approval_policy":"on-request","approvals_reviewer":"user","model":"gpt-5.5","sandbox_policy":{"type":"read-only","network_access":false}}}` + "\n"
	rollout := func(id string) string { return "home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-" + id + ".jsonl" }
	for child, parent := range map[string]string{ownChild: own, otherChild: other, silent: own} {
		meta := `{"type":"session_meta","payload":{"session_id":"` + parent + `","id":"` + child + `","parent_thread_id":"` + parent + `","cwd":"` + w.root +
			`","source":{"subagent":{"thread_spawn":{"parent_thread_id":"` + parent + `","depth":1}}},"thread_source":"subagent"}}` + "\n"
		if child != silent {
			meta += settings
		}
		w.write(rollout(child), meta)
	}
	for _, one := range []string{own, other} {
		record := w.g.threads.recordLocked(one)
		record.openedByClient = true
		record.allow(&thread{Thread: policy.Thread{
			ID: one, Workspace: w.root, Cwd: w.root, Sandbox: "read-only", SandboxSummary: "read-only", Approval: []byte(`"on-request"`), Reviewer: "user", Rollout: w.write(rollout(one), settings),
		}})
	}
	for _, test := range []struct{ tool, input, field string }{
		{"send_input", `{"id":"` + own + `"}`, ""},
		{"send_input", `{"id":"` + ownChild + `"}`, ""},
		{"send_input", `{"id":"` + silent + `"}`, "tool_input.id"},
		{"wait_agent", `{"ids":["` + silent + `"]}`, ""},
		{"send_input", `{"id":"` + other + `"}`, "tool_input.id"},
		{"send_input", `{"id":"` + otherChild + `"}`, "tool_input.id"},
		{"send_input", `{"id":"` + strings.ToUpper(other) + `"}`, "tool_input.id"},
		{"send_input", `{"id":"` + ownChild + `","message":"` + other + `","items":["` + other + `"]}`, ""},
		{"send_input", `{"message":"` + other + `","items":[],"target":"` + other + `"}`, "tool_input.target"},
		{"send_input", `{"id":"reviewer","n":1}`, ""},
		{"wait_agent", `{"ids":["` + ownChild + `","` + own + `"]}`, ""},
		{"wait_agent", `{"ids":["` + ownChild + `","` + other + `"]}`, "tool_input.ids"},
		{"agents__resume_agent", `{"id":"` + other + `"}`, "tool_input.id"},
		{"mcp__agents__resume_agent", `{"id":"` + other + `"}`, ""},
		{"Bash", `{"id":"` + other + `"}`, ""},
	} {
		for _, caller := range []string{own, ownChild} {
			err := w.g.agentRefusal(toolcall.Call{Name: test.tool, Input: value(t, test.input)}, caller, "")
			field := ""
			if err != nil {
				field = (&policy.Decision{Err: err}).Refusal().Field
			}
			if field != test.field {
				t.Errorf("%s %s from %s: %v", test.tool, test.input, caller, err)
			}
		}
	}
	// The guard has forgotten the other session, which Codex has unloaded.
	forgotten := w.g.threads.records[other]
	delete(w.g.threads.records, other)
	if err := w.g.agentRefusal(toolcall.Call{Name: "wait_agent", Input: value(t, `{"ids":["`+otherChild+`"]}`)}, own, ""); err == nil {
		t.Error("a call names an agent of a forgotten session")
	}
	w.g.threads.records[other] = forgotten
	// The client has opened the agent's thread. Its effective settings count beside those in Codex's
	// file.
	agent := w.g.threads.records[own].verified.Thread
	agent.ID, agent.Rollout = ownChild, w.write(rollout(ownChild), settings)
	for name, change := range map[string]func(caller, agent *policy.Thread){
		"": func(*policy.Thread, *policy.Thread) {},
		"sandbox": func(_, agent *policy.Thread) {
			agent.Sandbox, agent.SandboxSummary = "workspace-write", "workspace-write"
		},
		"gate": func(caller, _ *policy.Thread) { caller.Gated = true },
	} {
		caller, agent := *w.g.threads.records[own].verified, agent
		change(&caller.Thread, &agent)
		opened := w.g.threads.recordLocked(ownChild)
		w.g.threads.records[own].allow(&caller)
		opened.allow(&thread{Thread: agent})
		opened.openedByClient = true
		if looser := w.g.isLooser(ownChild, own, ""); looser != (name != "") {
			t.Errorf("with another %s the agent is looser: %v", name, looser)
		}
		caller.Gated = false
	}
	if got := w.g.Tool(t.Context(), own, "", toolcall.Call{Name: "send_input", Input: value(t, `{"id":"`+other+`"}`)}, nil); !strings.Contains(got.Refusal, "is not one of this session") {
		t.Errorf("the call gets %+v", got)
	}
}

// The settings of an agent that is called by its name are unknown. It gets no work after the
// settings of its thread have changed.
func TestAgentByName(t *testing.T) {
	const id = "01900000-0000-7000-8000-00000000000a"
	w := newAgentWorld(t, nil)
	w.g.threads.setVerified(map[string]*thread{id: {Thread: policy.Thread{ID: id, Workspace: w.root}}})
	for _, test := range []struct {
		tool, input string
		field       string // refused once the settings have changed
	}{
		{"send_input", `{"target":"a"}`, "tool_input.target"},
		{"send_input", `{"id":"a"}`, "tool_input.id"},
		{"send_input", `{"target":""}`, ""},
		{"send_input", `{"target":1}`, ""},
		{"send_input", `{"interrupt":"a"}`, ""},
		{"team__send_message", `{"target":"a"}`, "tool_input.target"},
		{"assign_task", `{"target":"a"}`, "tool_input.target"},
		{"wait_agent", `{"target":"a"}`, ""},
		{"interrupt_agent", `{"target":"a"}`, ""},
	} {
		for _, varied := range []bool{false, true} {
			w.g.threads.recordLocked(id).loaded = &loadedThread{varied: varied}
			want := ""
			if varied {
				want = test.field
			}
			err := w.g.agentRefusal(toolcall.Call{Name: test.tool, Input: value(t, test.input)}, id, "")
			got := ""
			if err != nil {
				got = (&policy.Decision{Err: err}).Refusal().Field
			}
			if got != want {
				t.Errorf("%s %s, settings changed: %v: %v", test.tool, test.input, varied, err)
			}
		}
	}
	if err := w.g.agentRefusal(toolcall.Call{Name: "send_input", Input: value(t, `{"target":"a"}`)}, "unknown", ""); err != nil {
		t.Errorf("a caller that runs no tools gets %v", err)
	}
}

// An agent is looser if its settings, or those of its caller, are unknown.
func TestAgentWithoutSettings(t *testing.T) {
	const own, agent = "01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000000b"
	w := newAgentWorld(t, nil)
	file := func(name, text string) string {
		return w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+name+".jsonl", text)
	}
	settings := `{"type":"turn_context","payload":{"turn_id":"u","cwd":"` + w.root +
		`","approval_policy":"on-request","approvals_reviewer":"user","model":"gpt-5.5","sandbox_policy":{"type":"read-only","network_access":false}}}` + "\n"
	with, without := file(own, settings), file(agent, "{}\n")
	for _, test := range []struct {
		caller, agent string // files
		want          bool
	}{{with, with, false}, {with, without, true}, {without, with, true}, {without, without, true}} {
		w.g.threads.setVerified(map[string]*thread{
			own:   {Thread: policy.Thread{ID: own, Workspace: w.root, Rollout: test.caller}},
			agent: {Thread: policy.Thread{ID: agent, Workspace: w.root, Rollout: test.agent}},
		})
		if got := w.g.isLooser(agent, own, ""); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
		if w.g.isLooser(own, own, "") || w.g.isLooser(agent, "unknown", "") {
			t.Error("the caller itself, or the agent of a caller that runs no tools, is looser")
		}
	}
}

// The settings of an agent's thread were loosened after its last turn, and before the bridge was
// started.
func TestAgentRaisedBefore(t *testing.T) {
	const own, agent = "01900000-0000-7000-8000-00000000000a", "01900000-0000-7000-8000-00000000000b"
	w := newAgentWorld(t, nil)
	file := func(id, access string) string {
		text := `{"type":"turn_context","payload":{"turn_id":"u","cwd":"` + w.root +
			`","approval_policy":"on-request","approvals_reviewer":"user","model":"gpt-5.5","sandbox_policy":{"type":"read-only","network_access":false}}}` + "\n"
		if access != "" {
			text += `{"type":"event_msg","payload":{"type":"thread_settings_applied","thread_settings":{"cwd":"` + w.root + `","approval_policy":"on-request","approvals_reviewer":"user",` +
				`"permission_profile":{"type":"managed","file_system":{"type":"restricted","entries":[{"access":"` + access + `"}]},"network":"restricted"}}}}` + "\n"
		}
		return w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+".jsonl", text)
	}
	for _, test := range []struct {
		caller, agent string // the access to a path; "": Codex wrote no settings down
		want          bool
	}{{"read", "read", false}, {"read", "write", true}, {"write", "write", false}, {"write", "read", false}, {"", "write", false}, {"read", "", false}} {
		w.g.threads.setVerified(map[string]*thread{
			own:   {Thread: policy.Thread{ID: own, Workspace: w.root, Rollout: file(own, test.caller)}},
			agent: {Thread: policy.Thread{ID: agent, Workspace: w.root, Rollout: file(agent, test.agent)}},
		})
		if got := w.g.isLooser(agent, own, ""); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
}
