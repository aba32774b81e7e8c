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

// Shown is a binding as clients and the command line show it.
type Shown struct {
	Session      string         `json:"sessionKey"`
	Thread       string         `json:"threadId"`
	Before       string         `json:"threadBefore,omitempty"`
	Action       string         `json:"action,omitempty"` // the last action on the session
	Reason       binding.Reason `json:"reason,omitempty"`
	Words        string         `json:"reasonText,omitempty"`
	Cwd          string         `json:"cwd"`
	Model        string         `json:"model,omitempty"`
	Provider     string         `json:"modelProvider,omitempty"`
	Created      string         `json:"createdAt"`
	Updated      string         `json:"updatedAt"`
	Holder       *store.Holder  `json:"holder,omitempty"` // the process that writes it
	Fingerprints Fingerprints   `json:"fingerprints"`
	Problem      string         `json:"problem,omitempty"` // why the record can't be read
}

// Show returns a binding in its shown form.
func Show(ctx context.Context, s *store.Store, row store.Binding) (Shown, error) {
	shown := Shown{
		Session: row.Session, Thread: row.Thread, Before: row.PreviousThread, Action: row.Action,
		Reason: binding.Reason(row.Reason), Words: binding.Reason(row.Reason).Words(), Updated: row.Updated.Format(time.RFC3339),
	}
	b, _, err := binding.Read([]byte(row.Record), row.Session, row.Updated)
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
	holder, found, err := s.ActiveLeaseHolder(ctx, row.Session, here)
	if found {
		shown.Holder = &holder
	}
	return shown, err
}

// Most is the maximum number of bindings on a page.
const Most = 1000

// localMethod returns the handler of a method that the bridge answers itself.
func (f *Feature) localMethod(answer func(context.Context, *store.Store, rpc.Value) (any, error)) func(context.Context, *bridge.ClientMessage) *rpc.Error {
	return func(ctx context.Context, call *bridge.ClientMessage) *rpc.Error {
		if !f.o.Known() || call.Kind != rpc.Request {
			return nil
		}
		m, failed := cloneRequest(call)
		if failed != nil {
			return failed
		}
		// The handler may wait for a session that another request opens.
		call.HandleAsync(func(ctx context.Context, async *bridge.AsyncRequest) {
			s, err := f.o.Store(ctx)
			var result any
			if err == nil {
				result, err = answer(ctx, s, m.Params)
			}
			if err != nil {
				async.Reply(rpc.EncodeError(m.ID, err))
				return
			}
			async.Reply(rpc.EncodeResult(m.ID, rpc.Encode(result)))
		})
		return nil
	}
}

// key returns params.sessionKey; "" if it is omitted.
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

// needKey returns params.sessionKey, or an error if it is omitted.
func needKey(params rpc.Value) (string, error) {
	session, err := key(params)
	if err == nil && session == "" {
		err = rpc.Errorf(rpc.CodeInvalidParams, "params.sessionKey is not there; bridge/binding/list has those that are known")
	}
	return session, err
}

// list answers {sessionKey?, cursor?, limit?} with {bindings: […], nextCursor}, the last changed first.
// nextCursor is null at the end, as in Codex's lists.
func (f *Feature) list(ctx context.Context, s *store.Store, params rpc.Value) (any, error) {
	session, err := key(params)
	if err != nil {
		return nil, err
	}
	page, err := readPage(params)
	if err != nil {
		return nil, err
	}
	var row []store.Binding
	var next *string
	if session == "" {
		row, next, err = page.bindings(ctx, s)
	} else if one, found, findErr := s.BindingBySession(ctx, session); found || findErr != nil {
		row, err = []store.Binding{one}, findErr
	}
	if err != nil {
		return nil, err
	}
	all := []Shown{}
	for _, b := range row {
		shown, err := Show(ctx, s, b)
		if err != nil {
			return nil, err
		}
		all = append(all, shown)
	}
	return map[string]any{"bindings": all, "nextCursor": next}, nil
}

// read answers {sessionKey} with {binding}; binding is null if there is none.
func (f *Feature) read(ctx context.Context, s *store.Store, params rpc.Value) (any, error) {
	session, err := needKey(params)
	if err != nil {
		return nil, err
	}
	row, found, err := s.BindingBySession(ctx, session)
	if err != nil || !found {
		return map[string]any{"binding": nil}, err
	}
	shown, err := Show(ctx, s, row)
	return map[string]any{"binding": shown}, err
}

// clear answers {sessionKey, threadId?} with {cleared}. It fails for a session that another process writes.
func (f *Feature) clear(ctx context.Context, s *store.Store, params rpc.Value) (any, error) {
	session, err := needKey(params)
	if err != nil {
		return nil, err
	}
	id, _ := params.Get("threadId").Text()
	cleared := false
	err = f.serialize(ctx, session, func(ctx context.Context) (err error) {
		if err := f.acquire(ctx, s, session); err != nil {
			return err
		}
		if cleared, err = s.DeleteBinding(ctx, session, id); err != nil {
			return err
		}
		if cleared {
			f.known.unbind(session)
		}
		return f.release(ctx, s, session)
	})
	return map[string]any{"cleared": cleared}, err
}

// release ends the lease on a session.
func (f *Feature) release(ctx context.Context, s *store.Store, session string) error {
	here, err := store.CurrentProcess()
	if err != nil {
		return err
	}
	if err := s.ReleaseLease(ctx, session, here); err != nil {
		return err
	}
	f.removeHeld(session)
	return nil
}

// removeHeld removes a session from those that this client writes.
func (f *Feature) removeHeld(session string) {
	f.mu.Lock()
	delete(f.held, session)
	f.mu.Unlock()
	f.o.Owners.release(session, f)
}

// actionAbandoned is the stored action of a session whose thread can't continue.
const actionAbandoned = "givenUp"

// abandon removes the thread from the session, and stores the reason.
func (f *Feature) abandon(ctx context.Context, session, id string, reason binding.Reason) error {
	err := f.updateBinding(ctx, session, id, func(row *store.Binding, b *binding.Binding) {
		row.Thread, row.PreviousThread, b.ThreadID = "", id, ""
		row.Action, row.Reason = actionAbandoned, string(reason)
	})
	if err != nil {
		return err
	}
	f.o.Log.Warn("a session's thread is given up; the next start of the session makes another", "thread", id, "reason", reason)
	f.known.change(id, func(t *thread) { t.session = "" })
	return nil
}

// updateBinding changes the binding of a session if it still has that thread. The mutex keeps concurrent
// changes from overwriting each other; other processes don't write the session.
func (f *Feature) updateBinding(ctx context.Context, session, id string, change func(*store.Binding, *binding.Binding)) error {
	f.updating.Lock()
	defer f.updating.Unlock()
	s, err := f.o.Store(ctx)
	if err != nil {
		return err
	}
	row, found, err := s.BindingBySession(ctx, session)
	if err != nil || !found || row.Thread != id {
		return err
	}
	b, _, err := binding.Read([]byte(row.Record), session, f.o.Now())
	if err != nil {
		return err
	}
	change(&row, &b)
	b = b.Stamped(f.o.Now())
	row.Record, row.Updated = string(binding.Encode(b)), f.o.Now()
	_, err = s.ReplaceBinding(ctx, row, id)
	return err
}
