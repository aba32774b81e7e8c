package guard

import (
	"context"
	"encoding/json"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// Explanation is a decision with the mode of the policy.
type Explanation struct {
	Mode     config.Mode
	Decision policy.Decision
	// Answers are the results that Codex offers the client, with the decision on each; nil if the
	// message is not a request of Codex.
	Answers []Outcome
	// Assumed means that the message would be refused for a thread that is not verified: an unknown one counts
	// as verified.
	Assumed bool
	// Own means that the bridge answers the message itself, to a client that offers capabilities.bridge.
	Own bool
	// Starts means that rules for commands also decide where each program of the command starts.
	Starts bool
	// Expired has a line for each rule that has expired; the caller of Explain sets it.
	Expired []string
	// Invalid has a line for each error of a workspace file that does not load; the caller of Explain sets it.
	Invalid []string
}

// Outcome is the decision on one result.
type Outcome struct {
	Answer  json.RawMessage `json:"answer"`
	Becomes json.RawMessage `json:"becomes"`
	Changes []policy.Change `json:"changes"`
}

// MarshalJSON returns the decision's members with the mode and the answers.
func (e Explanation) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(e.Decision)
	if err != nil {
		return nil, err
	}
	beside, err := json.Marshal(struct {
		Mode    config.Mode `json:"mode"`
		Answers []Outcome   `json:"answers,omitempty"`
		Assumed bool        `json:"threadAssumed,omitempty"`
		Own     bool        `json:"answeredByBridge,omitempty"`
		Starts  bool        `json:"decidedWhereProgramsStart,omitempty"`
		Expired []string    `json:"expiredRules,omitempty"`
		Invalid []string    `json:"invalidFiles,omitempty"`
	}{e.Mode, e.Answers, e.Assumed, e.Own, e.Starts, e.Expired, e.Invalid})
	if err != nil {
		return nil, err
	}
	return append(append(beside[:len(beside)-1], ','), raw[1:]...), nil
}

// Explain decides m without any effect: as a message of the client, or of Codex if only Codex has
// its method.
//
// Explain does not ask Codex for its configuration: an omitted field counts as Codex's default, and
// no project is trusted. An unknown thread counts as verified, with the start folder as workspace.
// The call that Codex asks about counts as one that stays in the sandbox. models are those that Codex
// lists; nil if unknown.
func (g *Guard) Explain(m *rpc.Message, models []string) Explanation {
	s := Situation{From: bridge.Client, Models: models}
	if g.isMethodOf(m.Method, methods.ServerRequest, methods.ServerNotification) && !g.isMethodOf(m.Method, methods.ClientRequest, methods.ClientNotification) {
		s.From = bridge.Codex
	}
	if id, ok := m.Params.Get("threadId").Text(); ok {
		if s.Thread = g.threads.peek(id); s.Thread == nil {
			unknown := g.ExplainIn(m, s)
			s.Thread = &policy.Thread{ID: id, Workspace: g.world.StartFolder}
			e := g.ExplainIn(m, s)
			e.Assumed = e.Decision.Err == nil && unknown.Decision.Err != nil && unknown.Decision.Err.Code == rpc.CodeNotVerified
			return e
		}
	}
	return g.ExplainIn(m, s)
}

// ExplainWithModels is Explain with the models that Codex lists, if the decision needs them.
func (g *Guard) ExplainWithModels(ctx context.Context, m *rpc.Message) Explanation {
	e := g.Explain(m, nil)
	if e.Decision.Want != policy.WantModels {
		return e
	}
	ctx, cancel := context.WithTimeout(ctx, g.codexTimeout)
	defer cancel()
	if models := g.readModels(ctx); models != nil {
		return g.Explain(m, models)
	}
	return e
}

// ExplainCommand decides a shell command without any effect, as if the model called it in the sandbox. An
// unknown thread counts as one in cwd with the policy's own settings. The shell counts as bash.
func (g *Guard) ExplainCommand(command, cwd, thread string) toolcall.Explanation {
	input, _ := json.Marshal(map[string]string{"command": command}) // strings can be encoded
	doc, err := rpc.ParseValue(input)
	policies := g.policies(thread)
	if err != nil {
		return toolcall.Explanation{Mode: policies[0].Mode(), Decision: "deny", Reason: err.Error()}
	}
	one := g.threads.peek(thread)
	if cwd == "" {
		cwd = g.world.StartFolder
		if one != nil {
			cwd = one.Workspace
		}
	}
	use := toolcall.Call{Name: "Bash", Input: doc.Root(), Cwd: cwd, Shell: "bash", Flags: "-lc"}
	var strict toolcall.Explanation
	for i, p := range policies {
		state := g.machine()
		state.Workspaces, state.Escalation, state.ProgramStarts = g.threads.workspaces(), rules.Sandboxed, g.decidesPrograms()
		if state.Thread = one; one == nil {
			state.Thread = p.AssumedThread(cwd)
			state.Workspaces = append(state.Workspaces[:len(state.Workspaces):len(state.Workspaces)], cwd)
		}
		a := toolcall.Explain(p, use, state)
		if i == 0 || a.Decision == "deny" || a.Decision == "ask" && strict.Decision == "allow" {
			strict = a
		}
	}
	return strict
}

// isMethodOf reports whether the method table, or the policy's newer one, has a method for one of the sides.
func (g *Guard) isMethodOf(method string, sides ...methods.Side) bool {
	for _, side := range sides {
		if _, ok := g.Policy().Newer().Lookup(side, method); ok {
			return true
		}
	}
	return false
}

// Situation is the state in which ExplainIn decides a message.
type Situation struct {
	From     bridge.Side            // the sender
	Thread   *policy.Thread         // the verified thread; nil for none
	Defaults *policy.Defaults       // codex's own configuration; nil: one that says nothing
	Models   []string               // that Codex lists, its default first; nil: unknown
	Question *serverrequest.Request // what codex asked, where the message is the answer
}

// ExplainIn is Explain with a state from the caller.
func (g *Guard) ExplainIn(m *rpc.Message, s Situation) Explanation {
	p := g.policy.Load()
	state := g.machine()
	state.Workspaces = g.threads.workspaces()
	state.Thread, state.Defaults, state.Models = s.Thread, s.Defaults, s.Models
	state.Escalation = rules.Sandboxed
	state.Stored, state.NotLoaded = new(policy.StoredProfile), true
	state.StoredSandbox, state.StoredApproval = &policy.SandboxSettings{}, json.RawMessage("null")
	state.StoredGate = new(bool) // a thread of which no more is known
	if s.Thread != nil {
		state.StoredSandbox.Mode = s.Thread.Sandbox
	}
	if state.Defaults == nil {
		state.Defaults = emptyDefaults
	}
	if state.Thread != nil {
		state.ThreadFolder = state.Thread.Workspace
		state.Workspaces = append(state.Workspaces[:len(state.Workspaces):len(state.Workspaces)], state.Thread.Workspace)
	}
	if s.Question != nil {
		return Explanation{Mode: p.Mode(), Decision: serverrequest.DecideAnswer(p, *s.Question, m, state)}
	}
	if m.Method == programMethod {
		return Explanation{Mode: p.Mode(), Decision: toolcall.DecideProgram(p, explainedProgram(m.Params), "", state)}
	}
	if s.From == bridge.Codex {
		return explainServerMessage(p, m, state)
	}
	if m.Kind == rpc.Request && IsOwnMethod(m.Method) {
		d := p.DecideOwnMethod(m, BeginsWork(m.Method))
		return Explanation{Mode: p.Mode(), Decision: d, Own: d.Verdict == policy.Pass}
	}
	return Explanation{Mode: p.Mode(), Decision: p.Decide(m, state)}
}

// explainedProgram returns the program in the params of a message program/start: path, args and cwd.
func explainedProgram(params rpc.Value) []rules.Program {
	var p rules.Program
	p.Path, _ = params.Get("path").Text()
	p.Dir, _ = params.Get("cwd").Text()
	for e := range params.Get("args").Elements() {
		word, _ := e.Text()
		p.Args = append(p.Args, word)
	}
	if p.Path == "" && len(p.Args) > 0 {
		p.Path = p.Args[0]
	}
	return []rules.Program{p}
}

// explainServerMessage decides a message of Codex, and each result that Codex offers.
func explainServerMessage(p *policy.Policy, m *rpc.Message, state policy.State) Explanation {
	e := Explanation{Mode: p.Mode(), Decision: policy.Decision{Verdict: policy.Pass, Message: m.Bytes()}}
	if m.Kind != rpc.Request || p.Mode() == config.Off {
		return e
	}
	d := serverrequest.Decide(p, m.Method, m.Params, state)
	if d.Verdict != policy.Pass {
		e.Decision = d
	}
	switch d.Verdict {
	case policy.Deny, policy.Accept:
		return e
	case policy.Rewrite:
		patch := rpc.NewPatch(m)
		patch.Set(m.Params, "reason", d.ShownReason)
		e.Decision.Message = patch.Bytes()
	}
	e.Starts = m.Method == "item/commandExecution/requestApproval" && p.SupervisesPrograms() && p.HasProgramRules()
	for _, answer := range serverrequest.OfferedResults(m.Method, m.Params) {
		// The offered result is JSON, but may be too deep for the parser.
		if line, err := rpc.ParseMessage(rpc.EncodeResult(m.ID, answer)); err == nil {
			e.Answers = append(e.Answers, outcomeOf(p, m, answer, line, state))
		}
	}
	return e
}

// outcomeOf decides a result for the request m; line is the client's message with it.
func outcomeOf(p *policy.Policy, m *rpc.Message, answer json.RawMessage, line *rpc.Message, state policy.State) Outcome {
	d := serverrequest.DecideAnswer(p, serverrequest.Request{Method: m.Method, Params: m.Params}, line, state)
	o := Outcome{Answer: answer, Becomes: answer, Changes: d.Changes}
	if sent, err := rpc.ParseValue(d.Message); err == nil {
		o.Becomes = sent.Root().Get("result").Raw()
	}
	return o
}

// emptyDefaults is an empty configuration of Codex.
var emptyDefaults = func() *policy.Defaults {
	doc, err := rpc.ParseValue([]byte(`{"config":{}}`))
	if err != nil {
		panic(err)
	}
	d, err := policy.ParseDefaults(doc.Root())
	if err != nil {
		panic(err)
	}
	return d
}()
