package guard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// OtherHooks returns the hooks besides the bridge's that may replace the input of a call of a tool in a
// thread, or with thread "" in any thread of a folder. Codex runs them at the same time as the bridge's.
type OtherHooks func(ctx context.Context, thread, folder, tool string) ([]string, error)

// SetOtherHooks sets the function that lists other hooks, and the file that Codex names as the source of the
// bridge's hooks. Call it before the conversation starts.
func (g *Guard) SetOtherHooks(list OtherHooks, source string) {
	g.otherHooks, g.hookSource = list, source
}

// otherHooksOf names a hook that may replace the input of a call; "" if there is none. If Codex does not
// list the hooks, there may be one.
func (g *Guard) otherHooksOf(ctx context.Context, thread string, use toolcall.Call, state policy.State) string {
	if g.otherHooks == nil {
		return ""
	}
	if state.CodexInternal {
		thread = "" // Codex does not list the hooks of such a thread
	}
	call := callOf{turnOf{thread: thread}, callKey(use.ID)}
	names, err := g.otherHooks(ctx, thread, use.Cwd, use.Name)
	if err == nil {
		g.listed.add(call, strings.Join(names[:min(len(names), 1)], ""))
	} else if known, ok := g.listed.get(call); ok {
		return known // as when the call came; all clients may have gone since
	}
	switch {
	case err != nil:
		return "a hook that is not the bridge's (Codex does not list them: " + err.Error() + ")"
	case len(names) == 0:
		return ""
	}
	return names[0]
}

// refuseReplaceable refuses a call that nothing else denies if another hook may replace its input, and the
// comparison with what runs would come too late. asks reports whether a person must be asked about it.
func (g *Guard) refuseReplaceable(ctx context.Context, p *policy.Policy, thread string, use toolcall.Call, state policy.State, asks bool) (policy.Decision, bool) {
	why := ""
	switch {
	case asks:
		why = "a person would be asked about another call than the one that runs"
	case slices.ContainsFunc(g.policies(thread), func(p *policy.Policy) bool { return toolcall.IsGated(p, use, state.Thread) }):
		why = "the bridge asks before each command and patch, and can't ask about the new one"
	case use.AppliesPatch():
		why = "the bridge can't compare a patch in a command with what runs; call apply_patch instead"
	case toolcall.SpawnsAgent(use.Name), isAgentTool(use.Name), rules.IsResourceTool(use.Name):
		why = "the policy judges the input of this tool"
	default:
		return policy.Decision{}, false
	}
	hooks := g.otherHooksOf(ctx, thread, use, state)
	if hooks == "" {
		return policy.Decision{}, false
	}
	return toolcall.RefuseReplaceable(p, hooks, why), true
}

// RefuseReplacement refuses a call whose input the bridge is about to replace, if another hook may
// replace it, too. It returns "" if the call may run.
func (g *Guard) RefuseReplacement(ctx context.Context, thread, turn string, use toolcall.Call, call []byte) (refusal string) {
	p := g.policies(thread)[0]
	if p.Mode() == config.Off {
		return ""
	}
	hooks := g.otherHooksOf(ctx, thread, use, g.callState(ctx, thread, turn, use, call))
	if hooks == "" {
		return ""
	}
	const method = "hook/preToolUse"
	d := toolcall.RefuseReplaceable(p, hooks, "the bridge has replaced it, too, and the one that ends last counts")
	g.logDecision(p.Mode(), method, d)
	_ = g.record(ctx, p.Mode(), subject{method: method, thread: thread, turn: turn, line: call, facts: unknownFacts(use.ID, "it depends on the hooks of Codex")}, d) // the call is denied even if this fails
	if p.Mode() != config.Enforce {
		return ""
	}
	g.notifyCall(method, thread, turn, use, d)
	return d.Err.Message
}

// callOf identifies a call by the callKey of its id, which the model chooses; "": all calls of the turn.
type callOf struct {
	turnOf
	id string
}

// otherRuns has the calls for which Codex has started other hooks that may replace the input, with the
// name of one. Safe for concurrent use.
type otherRuns struct {
	mu    sync.Mutex
	names map[callOf]string
	order []callOf // the oldest first
}

// maxOtherRuns bounds the calls of otherRuns. Codex starts few at the same time.
const maxOtherRuns = 4096

func (o *otherRuns) add(call callOf, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.names == nil {
		o.names = make(map[callOf]string)
	}
	if _, ok := o.names[call]; !ok {
		o.order = append(o.order, call)
	}
	o.names[call] = name
	if len(o.order) > maxOtherRuns {
		delete(o.names, o.order[0])
		o.order = o.order[1:]
	}
}

func (o *otherRuns) get(call callOf) (name string, ran bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name, ran = o.names[call]
	return name, ran
}

func (o *otherRuns) any() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.order) > 0
}

// hookStarted records that another hook may replace the input of a call. If the id of the run does not name the
// call, each call of the turn counts.
//
// Measured with Codex 0.169 and 0.171: the id of the run ends with the id of the call, and Codex sends this
// before the item of the call. It does not send it for a hook with "async", which can't replace the input.
func (g *Guard) hookStarted(_ context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	run := params.Get("run")
	source, _ := run.Get("sourcePath").Text()
	if !run.Get("eventName").Is("preToolUse") || source == g.hookSource {
		return
	}
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	id, _ := run.Get("id").Text()
	_, call, _ := strings.Cut(id, ":"+source+":")
	g.otherRuns.add(callOf{turnOf{thread, turn}, callKey(call)}, "the hook of "+display.Quote(display.Clip(source)))
}

// JudgedCall records the input with which a call may run, after the last judgement.
func (g *Guard) JudgedCall(thread, turn string, use toolcall.Call) {
	g.calls.judge(turnOf{thread, turn}, use.ID, inputOf(use))
}

// inputOf identifies what the rules judge of a command or patch; the zero value for other tools.
func inputOf(use toolcall.Call) (sum [sha256.Size]byte) {
	switch text, _ := use.Input.Get("command").Text(); use.Name {
	case "Bash":
		return sumOf("Bash", text)
	case "apply_patch":
		return sumOf("apply_patch", use.ChangedFiles()...)
	}
	return sum
}

// startedInput is inputOf for the item of a call.
func startedInput(item rpc.Value) (sum [sha256.Size]byte) {
	kind, _ := item.Get("type").Text()
	switch kind {
	case "commandExecution":
		shown, _ := item.Get("command").Text()
		argv, ok := rules.Split(shown)
		if !ok || len(argv) == 0 {
			return sumOf(kind, shown) // equals no judged input
		}
		return sumOf("Bash", argv[len(argv)-1])
	case "fileChange":
		return sumOf("apply_patch", pathsOf(item.Get("changes"))...)
	}
	return sum
}

// sumOf returns the hash of a command, or of a set of files.
func sumOf(tool string, texts ...string) [sha256.Size]byte {
	var all []string
	for _, text := range texts {
		if tool == "apply_patch" {
			text = filepath.Clean(text)
		}
		all = append(all, text)
	}
	slices.Sort(all)
	var text bytes.Buffer
	for _, one := range append([]string{tool}, slices.Compact(all)...) {
		text.WriteString(one + "\x00")
	}
	return sha256.Sum256(text.Bytes())
}

// compareStarted interrupts the turn of a call that runs with another input than the bridge has judged.
func (g *Guard) compareStarted(ctx context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	id, _ := params.Get("item").Get("id").Text()
	at := turnOf{thread, turn}
	hook, ran := g.otherRuns.get(callOf{at, callKey(id)})
	if !ran {
		hook, ran = g.otherRuns.get(callOf{at, ""})
	}
	if !ran {
		return
	}
	started := startedInput(params.Get("item"))
	judged, ok := g.calls.judged(at, id)
	if !ok || started == judged {
		return
	}
	p := g.policies(thread)[0]
	if p.Mode() == config.Off {
		return
	}
	go func() { // a goroutine, because this handler must not wait for Codex or for the log
		if p.Mode() == config.Enforce {
			g.interruptTurn(ctx, at)
		}
		g.reportEndedTurn(ctx, p, at, toolcall.ReplacedInput(p, hook))
	}()
}

// interruptTurn interrupts a turn. A command of it may go on in its sandbox.
func (g *Guard) interruptTurn(ctx context.Context, at turnOf) {
	ctx, cancel := context.WithTimeout(ctx, interruptTimeout)
	defer cancel()
	if _, err := g.peer.Call(ctx, "turn/interrupt", map[string]any{"threadId": at.thread, "turnId": at.turn}); err != nil {
		g.log.Error("a turn could not be interrupted", "thread", at.thread, "turn", at.turn, "error", err)
	}
}
