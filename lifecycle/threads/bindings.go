package threads

import (
	"context"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/rpc"
)

// Shown is a binding as it is shown to clients and people.
type Shown struct {
	Session      string         `json:"sessionKey"`
	Thread       string         `json:"threadId"`
	Before       string         `json:"threadBefore,omitempty"`
	Action       string         `json:"action,omitempty"` // what became of the session last
	Reason       binding.Reason `json:"reason,omitempty"`
	Words        string         `json:"reasonText,omitempty"`
	Cwd          string         `json:"cwd"`
	Model        string         `json:"model,omitempty"`
	Provider     string         `json:"modelProvider,omitempty"`
	Created      string         `json:"createdAt"`
	Updated      string         `json:"updatedAt"`
	Holder       *store.Holder  `json:"holder,omitempty"` // the process that writes it
	Fingerprints Fingerprints   `json:"fingerprints"`
	Problem      string         `json:"problem,omitempty"` // why it counts for nothing
}

// Show is a binding as it is shown.
func Show(ctx context.Context, s *store.Store, kept store.Binding) (Shown, error) {
	shown := Shown{
		Session: kept.Session, Thread: kept.Thread, Before: kept.PreviousThread, Action: kept.Action,
		Reason: binding.Reason(kept.Reason), Words: binding.Reason(kept.Reason).Words(), Updated: kept.Updated.Format(time.RFC3339),
	}
	b, _, err := binding.Read([]byte(kept.Record), kept.Session, kept.Updated)
	if err != nil {
		shown.Problem = problem.Text(err)
	} else {
		shown.Cwd, shown.Model, shown.Provider = b.Cwd, b.Model, b.ModelProvider
		shown.Created, shown.Fingerprints = b.CreatedAt, newFingerprints(b)
	}
	here, err := store.CurrentProcess()
	if err != nil {
		return Shown{}, err
	}
	holder, found, err := s.ActiveLeaseHolder(ctx, kept.Session, here)
	if found {
		shown.Holder = &holder
	}
	return shown, err
}

// Most is how many bindings are listed at once.
const Most = 1000

func (f *Feature) own(answer func(context.Context, *store.Store, rpc.Value) (any, error)) func(context.Context, *bridge.ClientMessage) *rpc.Error {
	return func(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
		if !f.o.Known() || call.Kind != rpc.Request {
			return nil
		}
		m, failed := cloned(call)
		if failed != nil {
			return failed
		}
		// A session that is being opened may have to be waited for.
		call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
			s, err := f.o.Store(ctx)
			var result any
			if err == nil {
				result, err = answer(ctx, s, m.Params)
			}
			if err != nil {
				aside.Reply(rpc.EncodeError(m.ID, err))
				return
			}
			aside.Reply(rpc.EncodeResult(m.ID, rpc.Encode(result)))
		})
		return nil
	}
}

// key is params.sessionKey, "" where it is left out.
func key(params rpc.Value) (string, error) {
	v := params.Get("sessionKey")
	if !v.Exists() {
		return "", nil
	}
	text, err := readKey(v)
	if err != nil {
		return "", rpc.Errorf(rpc.CodeInvalidParams, "params.sessionKey: %v", err)
	}
	return text, nil
}

func needKey(params rpc.Value) (string, error) {
	session, err := key(params)
	if err == nil && session == "" {
		err = rpc.Errorf(rpc.CodeInvalidParams, "params.sessionKey is not there; bridge/binding/list has those that are known")
	}
	return session, err
}

// list is {sessionKey?, cursor?, limit?} → {bindings: […], nextCursor}, those that changed last first.
// nextCursor is null at the end, as in Codex's own lists.
func (f *Feature) list(ctx context.Context, s *store.Store, params rpc.Value) (any, error) {
	session, err := key(params)
	if err != nil {
		return nil, err
	}
	page, err := readPage(params)
	if err != nil {
		return nil, err
	}
	var kept []store.Binding
	var next *string
	if session == "" {
		kept, next, err = page.bindings(ctx, s)
	} else if one, found, findErr := s.BindingBySession(ctx, session); found || findErr != nil {
		kept, err = []store.Binding{one}, findErr
	}
	if err != nil {
		return nil, err
	}
	all := []Shown{}
	for _, b := range kept {
		shown, err := Show(ctx, s, b)
		if err != nil {
			return nil, err
		}
		all = append(all, shown)
	}
	return map[string]any{"bindings": all, "nextCursor": next}, nil
}

// read is {sessionKey} → {binding}, null where there is none.
func (f *Feature) read(ctx context.Context, s *store.Store, params rpc.Value) (any, error) {
	session, err := needKey(params)
	if err != nil {
		return nil, err
	}
	kept, found, err := s.BindingBySession(ctx, session)
	if err != nil || !found {
		return map[string]any{"binding": nil}, err
	}
	shown, err := Show(ctx, s, kept)
	return map[string]any{"binding": shown}, err
}

// clear is {sessionKey, threadId?} → {cleared}. A session that another process writes is
// not cleared under its hands.
func (f *Feature) clear(ctx context.Context, s *store.Store, params rpc.Value) (any, error) {
	session, err := needKey(params)
	if err != nil {
		return nil, err
	}
	id, _ := params.Get("threadId").Text()
	cleared := false
	err = f.inLine(ctx, session, func(ctx context.Context) (err error) {
		if err := f.take(ctx, s, session); err != nil {
			return err
		}
		if cleared, err = s.DeleteBinding(ctx, session, id); err != nil {
			return err
		}
		if cleared {
			f.known.unbind(session)
		}
		return f.letGo(ctx, s, session)
	})
	return map[string]any{"cleared": cleared}, err
}

// letGo gives a session back.
func (f *Feature) letGo(ctx context.Context, s *store.Store, session string) error {
	here, err := store.CurrentProcess()
	if err != nil {
		return err
	}
	if err := s.ReleaseLease(ctx, session, here); err != nil {
		return err
	}
	f.forgetHeld(session)
	return nil
}

// forgetHeld records that a session has been given back.
func (f *Feature) forgetHeld(session string) {
	f.mu.Lock()
	delete(f.held, session)
	f.mu.Unlock()
	f.o.Owners.release(session, f)
}

// givenUp is the action of a session whose thread can't be gone on with.
const givenUp = "givenUp"

// giveUp leaves the session without a thread, and keeps why.
func (f *Feature) giveUp(ctx context.Context, session, id string, reason binding.Reason) error {
	err := f.amend(ctx, session, id, func(kept *store.Binding, b *binding.Binding) {
		kept.Thread, kept.PreviousThread, b.ThreadID = "", id, ""
		kept.Action, kept.Reason = givenUp, string(reason)
	})
	if err != nil {
		return err
	}
	f.o.Log.Warn("a session's thread is given up; the next start of the session makes another", "thread", id, "reason", reason)
	f.known.change(id, func(t *thread) { t.session = "" })
	return nil
}

// amend changes the binding of a session, if it is still that thread's. One at a time, or of two
// changes the second would take the first one back; other processes don't write the session.
func (f *Feature) amend(ctx context.Context, session, id string, change func(*store.Binding, *binding.Binding)) error {
	f.amending.Lock()
	defer f.amending.Unlock()
	s, err := f.o.Store(ctx)
	if err != nil {
		return err
	}
	kept, found, err := s.BindingBySession(ctx, session)
	if err != nil || !found || kept.Thread != id {
		return err
	}
	b, _, err := binding.Read([]byte(kept.Record), session, f.o.Now())
	if err != nil {
		return err
	}
	change(&kept, &b)
	b = b.Stamped(f.o.Now())
	kept.Record, kept.Updated = string(binding.Encode(b)), f.o.Now()
	_, err = s.ReplaceBinding(ctx, kept, id)
	return err
}
