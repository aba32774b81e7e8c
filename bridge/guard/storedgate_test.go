package guard

import (
	"cmp"
	"context"
	"errors"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// gateRecords is a GateRecord in memory.
type gateRecords map[string]gateState

func (r gateRecords) SetGate(_ context.Context, thread string, gated bool, known, roots string) error {
	r[thread] = gateState{gated, cmp.Or(r[thread].known, known), cmp.Or(roots, r[thread].roots)}
	return nil
}

func (r gateRecords) Gate(_ context.Context, thread string) (gated bool, known, roots string, found bool, err error) {
	one, found := r[thread]
	return one.gated, one.known, one.roots, found, nil
}

func (r gateRecords) DeleteGate(_ context.Context, thread string) error {
	delete(r, thread)
	return nil
}

// The record of a thread says which project Codex alone would know by it. It ends when Codex deletes the
// thread, so that the bridge asks about a later thread with that id; an archived or closed thread keeps it.
func TestGateRecordOfThread(t *testing.T) {
	w := newAgentWorld(t, nil)
	w.start()
	records := gateRecords{}
	w.g.SetGateRecord(records)
	const id = "01900000-0000-7000-8000-000000000001"
	for _, known := range []string{"", "/work"} {
		w.g.threads.mu.Lock()
		w.g.threads.recordLocked(id).allow(&thread{Thread: policy.Thread{ID: id, KnownFolder: known}})
		w.g.threads.mu.Unlock()
		w.g.recordGate(t.Context(), id)
		if got, found := records[id]; !found || got.known != known {
			t.Errorf("recorded %v, %+v, want known %q", found, got, known)
		}
	}
	for _, method := range []string{"thread/closed", "thread/archived"} {
		w.closes(method, id)
		if one, err := w.g.storedGate(t.Context(), id); err != nil || one == nil || one.known != "/work" {
			t.Errorf("%s: the record is %+v", method, one)
		}
	}
	w.closes("thread/deleted", id)
	if one, err := w.g.storedGate(t.Context(), id); err != nil || one != nil {
		t.Errorf("a deleted thread has the record %+v", *one)
	}
}

// A resume has the roots that the record of its thread has. A record that can't be read is no record without roots.
func TestRootsOfRecord(t *testing.T) {
	const id = "01900000-0000-7000-8000-000000000001"
	for text, want := range map[string]string{`["/code/proj/sub"]`: "", `[]`: "", ``: "", `["/code`: "unexpected end of JSON input"} {
		w := newAgentWorld(t, nil)
		w.start()
		w.g.SetGateRecord(gateRecords{id: gateState{roots: text}})
		var state policy.State
		w.g.readRecord(t.Context(), id, &state)
		if state.RootsProblem != want || (len(state.InnerRoots) == 1) != (text == `["/code/proj/sub"]`) {
			t.Errorf("%s: roots %v, problem %q", text, state.InnerRoots, state.RootsProblem)
		}
		w.g.SetGateRecord(unreadable{})
		state = policy.State{}
		if w.g.readRecord(t.Context(), id, &state); state.RootsProblem != "no disk" {
			t.Errorf("problem %q", state.RootsProblem)
		}
	}
}

// unreadable is a GateRecord that can't be read.
type unreadable struct{ gateRecords }

func (unreadable) Gate(context.Context, string) (gated bool, known, roots string, found bool, err error) {
	return false, "", "", false, errors.New("no disk")
}
