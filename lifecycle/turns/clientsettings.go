package turns

import (
	"context"
	"encoding/json"
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/rpc"
)

// settingsUpdate has a session's turns leave the thread as a thread/settings/update of the client
// has made it, and not undo a turn/start that has made it stricter. A setting of bridge/turn/set that no turn has
// had yet is dropped then.
func (f *Feature) settingsUpdate(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
	if call.Kind != rpc.Request || call.Params.Kind() != rpc.Object {
		return nil
	}
	id, _ := call.Params.Get("threadId").Text()
	s, changes := clientSettingsOf(call)
	if !changes {
		return nil
	}
	call.OnResponse(func(a *bridge.ServerResponse) {
		if !a.Result().Exists() {
			return
		}
		f.mu.Lock()
		if c := f.open[id]; c != nil {
			if s.setsApproval(c.next.Approval) {
				c.next.Approval, c.next.limits.approval = "", ""
			}
			if s.setsSandbox(c.next.Sandbox) {
				c.next.Sandbox, c.next.limits.sandbox = "", ""
			}
		}
		f.mu.Unlock()
		ctx := context.WithoutCancel(ctx)
		session, err := f.o.Threads.SessionOf(ctx, id)
		if err == nil && session != "" {
			err = f.o.Threads.Change(ctx, session, id, s.keep)
		}
		if err != nil {
			f.o.Log.Error("the settings of a session's thread can't be stored; its next turn undoes what the client has set", "thread", id, "error", err)
		}
	})
	return nil
}

// clientSettings are what a request of the client sets for the later turns of a thread.
type clientSettings struct {
	ofTurn                  bool // turn/start
	hasApproval, hasSandbox bool
	approval, sandbox       string          // see updatedApproval and updatedSandbox
	whole                   bool            // see updatedSandbox
	granular                json.RawMessage // counts if approval is ""
	profile                 string          // counts if sandbox is ""
	narrowed                rpc.Value       // the sandboxPolicy
}

func clientSettingsOf(call *bridge.ClientMessage) (s clientSettings, changes bool) {
	s.ofTurn = call.Method == "turn/start"
	s.approval, s.hasApproval = updatedApproval(call.Params)
	s.sandbox, s.whole, s.hasSandbox = updatedSandbox(call.Params)
	if !s.hasApproval && !s.hasSandbox {
		return s, false // as most turns
	}
	s.granular = slices.Clone(call.Params.Get("approvalPolicy").Raw())
	s.profile, _ = call.Params.Get("permissions").Text()
	if doc, err := rpc.ParseValue(slices.Clone(call.Params.Get("sandboxPolicy").Raw())); err == nil {
		s.narrowed = doc.Root()
	}
	return s, true
}

// setsApproval reports whether the request's approval policy takes the place of another one. That of a turn does not if
// the other one is stricter, or may be.
func (s clientSettings) setsApproval(was string) bool {
	return s.hasApproval && (!s.ofTurn || s.approval == setting.Untrusted || s.approval == "" && was != setting.Untrusted)
}

// setsSandbox is setsApproval for the sandbox.
func (s clientSettings) setsSandbox(was string) bool {
	return s.hasSandbox && (!s.ofTurn || s.sandbox != "" && isNarrower(s.sandbox, was) || s.sandbox == "" && was != setting.ReadOnly)
}

// keep has the turns of a session keep what the request has set.
func (s clientSettings) keep(b *binding.Binding) {
	if s.setsApproval(b.ApprovalPolicy) {
		b.ApprovalPolicy = s.approval
		if b.Replacement != nil {
			b.Replacement["approvalPolicy"] = s.granular
		}
	}
	if !s.setsSandbox(b.Sandbox) {
		return
	}
	b.Sandbox, b.KeepsSandbox = s.sandbox, !s.whole
	if b.Replacement == nil {
		return
	}
	if s.sandbox == "" {
		b.Replacement.SetSandbox(s.profile)
	}
	b.Replacement.Narrow(s.narrowed)
}

// updatedApproval returns the approval policy that a request sets; "" if it is not a
// word, and then the thread keeps it.
func updatedApproval(p rpc.Value) (approval string, ok bool) {
	v := p.Get("approvalPolicy")
	if !v.Exists() || v.Kind() == rpc.Null {
		return "", false
	}
	text, _ := v.Text()
	if !setting.IsApproval(text) {
		text = ""
	}
	return text, true
}

// modesOfProfiles are the modes of Codex's own permissions profiles.
var modesOfProfiles = map[string]string{":read-only": setting.ReadOnly, ":workspace": setting.WorkspaceWrite, ":danger-full-access": setting.DangerFullAccess}

// updatedSandbox returns the mode of the sandbox that a request sets; "" if it has
// none. whole reports whether a turn with that mode has the same sandbox.
func updatedSandbox(p rpc.Value) (mode string, whole, ok bool) {
	if v := p.Get("permissions"); v.Exists() && v.Kind() != rpc.Null {
		name, _ := v.Text()
		mode = modesOfProfiles[name]
		return mode, mode == setting.ReadOnly || mode == setting.DangerFullAccess, true
	}
	v := p.Get("sandboxPolicy")
	if !v.Exists() || v.Kind() == rpc.Null {
		return "", false, false
	}
	kind, _ := v.Get("type").Text()
	mode, whole = setting.ThreadSandbox(kind), true
	for name, m := range v.Members() {
		set, _ := m.Bool() // a network, or a temporary folder that is not writable
		if set || name == "writableRoots" && m.Len() > 0 {
			whole = false
		}
	}
	return mode, whole && mode != "", true
}
