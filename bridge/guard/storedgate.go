package guard

import (
	"context"
	"encoding/json"
	"slices"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// GateRecord keeps whether the bridge asks about each command of a thread in Codex's place, a folder
// whose project Codex alone would know by the thread, and the roots that Codex alone would give it, since
// Codex stores none of these. No client can change it.
type GateRecord interface {
	// SetGate keeps a known folder that was recorded before, and with roots "" the recorded roots.
	SetGate(ctx context.Context, thread string, gated bool, known, roots string) error
	// Gate returns what SetGate has recorded.
	Gate(ctx context.Context, thread string) (gated bool, known, roots string, found bool, err error)
	DeleteGate(ctx context.Context, thread string) error
}

// gateState is what the GateRecord has of a thread.
type gateState struct {
	gated bool
	known string // policy.State.KnownFolder
	roots string // policy.State.InnerRoots, as a JSON array; "" leaves what is recorded
}

// gateStateOf returns what the record of a thread has to say.
func gateStateOf(t *policy.Thread) gateState {
	roots, _ := json.Marshal(append([]string{}, t.InnerRoots...)) // texts: it can't fail
	return gateState{t.Gated, t.KnownFolder, string(roots)}
}

// SetGateRecord sets the record; without one, nothing is recorded. Call it before the conversation starts.
func (g *Guard) SetGateRecord(record GateRecord) { g.gateRecord = record }

// storedGate returns the record of a thread: of a subagent's thread that no client has opened, that of its
// parent's. It returns nil if there is no record.
func (g *Guard) storedGate(ctx context.Context, id string) (*gateState, error) {
	if g.gateRecord == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	for range maxParents {
		if !isCanonicalUUID(id) {
			return nil, nil
		}
		gated, known, roots, found, err := g.gateRecord.Gate(ctx, id)
		if err != nil {
			g.log.Error("the record of a thread can't be read; it counts as one whose commands the bridge asked about", "thread", id, "error", err)
			return nil, err
		}
		if found {
			return &gateState{gated, known, roots}, nil
		}
		child := g.child(id)
		if child == nil {
			return nil, nil
		}
		id = child.Parent
	}
	return nil, nil
}

// readRecord adds to state what the record of a thread says.
func (g *Guard) readRecord(ctx context.Context, id string, state *policy.State) {
	record, err := g.storedGate(ctx, id)
	if record != nil {
		state.StoredGate, state.KnownFolder = &record.gated, record.known
		if record.roots != "" {
			err = json.Unmarshal([]byte(record.roots), &state.InnerRoots)
		}
	}
	if err != nil {
		state.RootsProblem = err.Error()
	}
}

// keepStoredGate changes a decision by which the bridge would no longer ask about each command of a resumed
// thread, if Codex has the thread in memory and the guard does not know it. Codex ignores the request's
// approval policy then, as does the guard for a thread that it knows; see verifyResponse.
func (g *Guard) keepStoredGate(ctx context.Context, id string, d *policy.Decision, state policy.State) *rpc.Error {
	gated := state.StoredGate == nil || *state.StoredGate
	endsGate := d.Sent != nil && d.Gated != nil && !*d.Gated
	if g.gateRecord == nil || state.Thread != nil || state.Unsubscribed || !gated || !endsGate {
		return nil
	}
	loaded, err := g.listLoaded(ctx)
	if err == nil && slices.Contains(loaded, id) {
		d.Gated, d.Sent.Gated = nil, &gated
	}
	return err
}

// requireGateRecord records that the bridge asks about each command of a thread, before Codex gets the
// request by which it does. Otherwise the record could say later that the bridge does not ask. Another
// bridge may have changed the record of a thread that the request opens.
func (g *Guard) requireGateRecord(ctx context.Context, method, thread string, opens bool) *rpc.Error {
	g.gateWrites.Lock()
	defer g.gateWrites.Unlock()
	if opens {
		g.threads.apply(thread, gateRecorded{})
	}
	err := g.writeGate(ctx, thread, gateState{gated: true})
	if err == nil {
		return nil
	}
	g.log.Error("the bridge can't record that it asks about each command of a thread", "method", method, "thread", thread, "error", err)
	return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: method, Rule: "store", Hint: "run codex-bridge doctor",
		Reason: "the bridge can't record that it asks about each command of the thread, and after a restart it might not: " + err.Error(),
	})
}

// recordGate records a thread as it is, after Codex's response.
func (g *Guard) recordGate(ctx context.Context, thread string) {
	g.gateWrites.Lock()
	defer g.gateWrites.Unlock()
	one := g.threads.peek(thread)
	if one == nil {
		return // it takes no turns
	}
	if err := g.writeGate(ctx, thread, gateStateOf(one)); err != nil {
		// Without a record, or with that of requireGateRecord, the bridge asks.
		g.log.Error("a thread can't be recorded; after a restart the bridge may ask about each of its commands", "thread", thread, "error", err)
	}
}

// recordRoots records the roots of a thread that the bridge has opened and does not let take turns. A later
// request may open it, and Codex has recorded it without them.
func (g *Guard) recordRoots(ctx context.Context, sent *policy.SentSettings, thread string, state policy.State) {
	roots := sent.RemovedRoots(state)
	if len(roots) == 0 {
		return
	}
	g.gateWrites.Lock()
	defer g.gateWrites.Unlock()
	record := gateStateOf(&policy.Thread{Gated: state.StoredGate == nil || *state.StoredGate, InnerRoots: roots})
	if err := g.writeGate(ctx, thread, record); err != nil {
		g.log.Error("the roots of a thread can't be recorded; if it is opened again, commands may write .git, .codex and .agents in them", "thread", thread, "error", err)
	}
}

// writeGate writes the record of a thread unless it has the value. The caller holds gateWrites.
func (g *Guard) writeGate(ctx context.Context, thread string, state gateState) error {
	if g.gateRecord == nil || g.threads.isRecorded(thread, state) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := g.gateRecord.SetGate(ctx, thread, state.gated, state.known, state.roots); err != nil {
		g.threads.apply(thread, gateRecorded{})
		return err
	}
	g.threads.apply(thread, gateRecorded{&state})
	return nil
}

// deleteGate removes the record of a thread that Codex has deleted.
func (g *Guard) deleteGate(ctx context.Context, thread string) {
	if g.gateRecord == nil {
		return
	}
	g.gateWrites.Lock()
	defer g.gateWrites.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shortRecordTimeout)
	defer cancel()
	g.threads.apply(thread, gateRecorded{})
	if err := g.gateRecord.DeleteGate(ctx, thread); err != nil {
		g.log.Error("the record of a deleted thread can't be removed", "thread", thread, "error", err)
	}
}

// isRecorded reports whether the guard has last written the value in the record of a thread.
func (t *threads) isRecorded(id string, state gateState) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	record := t.records[id]
	return record != nil && record.recordedGate != nil && *record.recordedGate == state
}

// gateRecorded: the GateRecord has a state of the thread; nil if it is not known.
type gateRecorded struct{ state *gateState }

func (e gateRecorded) change(r *threadRecord) { r.recordedGate = e.state }
