package guard

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// threadModel drives the records of threads, and a plain reference that verifies at once.
type threadModel struct {
	w        *agentWorld
	policies []*policy.Policy
	allows   [][]string // the approval policies that each of policies allows
	active   int
	refs     map[string]*threadReference
	pending  []*pendingStep
	clients  []*Guard
	idle     map[string]uint64 // as the guard has looked at it earlier
}

// settingsReference are settings of a thread.
type settingsReference struct{ approval, cwd string }

// threadReference is the state that a thread must have after all messages so far.
type threadReference struct {
	verified       bool // it may take turns, once its folders have answered
	opened, last   settingsReference
	extra          []int // of policies
	openedByClient bool
	opening        *openingReference // nil unless a response is being verified
	ended          threadState       // why it takes no turns, if a client has opened it and no verification is pending

	gated     bool          // the bridge asks in Codex's place
	gateOrder uint64        // of the request that has set gated
	changes   []*gateChange // pending requests that change the gate

	reports   []settingsReference // of Codex, since the record began
	delivered map[*Guard]int      // how many of them each client of the thread has got
	counted   int                 // how many of them at least one client has got
}

// openingReference is a response that opens a thread, until its folders have answered.
type openingReference struct {
	order    uint64
	result   settingsReference
	differs  bool                // from what was requested
	updates  []settingsReference // reported since
	keepable bool                // the thread before may go on if nothing has changed
}

// pendingStep is a verification that asks the disk.
type pendingStep struct {
	id      string
	opened  *openedThread // nil: settings or a policy are verified
	v       *verification
	answers *diskAnswers
}

func (m *threadModel) allowed(p int, s settingsReference) bool {
	return slices.Contains(m.allows[p], s.approval) && policy.Within(m.w.root, s.cwd)
}

func (m *threadModel) allowedByAll(ps []int, s settingsReference) bool {
	return !slices.ContainsFunc(append(slices.Clone(ps), m.active), func(p int) bool { return !m.allowed(p, s) })
}

func (m *threadModel) activePolicy() *policy.Policy { return m.policies[m.active] }

// end is an event after which the thread takes no turns.
func (r *threadReference) end(state threadState) { r.verified, r.opening, r.ended = false, nil, state }

// subscribers returns the clients that get the reports of the thread, besides one.
func (r *threadReference) subscribers(but *Guard) (all []*Guard) {
	for client := range r.delivered {
		if client != but {
			all = append(all, client)
		}
	}
	return all
}

// opens lets Codex open a thread for a client. The client has got all reports that Codex has sent before.
func (m *threadModel) opens(client *Guard, id string, result settingsReference, differs bool) {
	for _, one := range append(m.refs[id].subscribers(nil), client) {
		for _, subscribed := m.refs[id].delivered[one]; subscribed && m.deliver(id, one); {
			continue
		}
	}
	order := m.w.g.threads.beginGateChange("", nil).order
	text := strings.NewReplacer("ID", id, "CWD", result.cwd, "SANDBOX", readOnlySandbox, `"on-request"`, `"`+result.approval+`"`).Replace(openedResult)
	gated := false
	o := newOpenedThread(openedThread{sent: &policy.SentSettings{Method: "thread/resume", Workspace: m.w.root, Gated: &gated}, result: value(m.w.t, text), world: m.w.g.world, order: order})
	if differs {
		o.sent.Workspace = filepath.Join(m.w.root, "sub")
	}
	ref := m.refs[id]
	// Only a thread that takes turns at this moment can go on as before.
	ref.opening = &openingReference{order: order, result: result, differs: differs, keepable: m.w.g.threads.peek(id) != nil && ref.mayTakeTurns()}
	ref.verified, ref.openedByClient, ref.ended = false, true, refused
	if ref.delivered == nil {
		ref.delivered = make(map[*Guard]int)
	}
	ref.delivered[client] = len(ref.reports)
	m.pending = append(m.pending, &pendingStep{id: id, opened: o, v: m.w.g.threads.beginOpened(m.activePolicy, client, o), answers: o.answers})
}

// deliver lets a client get the next report of a thread. The result is false if there is none. A report counts
// when the first client gets it.
func (m *threadModel) deliver(id string, client *Guard) bool {
	ref := m.refs[id]
	next := ref.delivered[client]
	if next == len(ref.reports) {
		return false
	}
	s := ref.reports[next]
	ref.delivered[client]++
	v := m.w.g.threads.beginUpdate(m.activePolicy, client, id, m.w.reports(s.cwd, s.approval))
	if v != nil {
		m.pending = append(m.pending, &pendingStep{id: id, v: v, answers: new(diskAnswers)})
	}
	if next == ref.counted {
		ref.counted++
		m.counts(ref, s)
	}
	return true
}

func (m *threadModel) counts(ref *threadReference, s settingsReference) {
	if ref.opening != nil {
		ref.opening.updates = append(ref.opening.updates, s)
		return
	}
	if ref.verified && !m.allowedByAll(ref.extra, s) {
		ref.end(refused)
	}
	ref.last = s
}

// adds lets the policy files of a thread's folder have another policy.
func (m *threadModel) adds(id string, p int) {
	v, _ := m.w.g.threads.addPolicy(m.activePolicy(), id, m.policies[p])
	if v != nil {
		m.pending = append(m.pending, &pendingStep{id: id, v: v, answers: new(diskAnswers)})
	}
	if ref := m.refs[id]; ref.openedByClient && p != m.active && !slices.Contains(ref.extra, p) {
		ref.extra = append(slices.Clone(ref.extra), p)
		m.stays(ref, p)
	}
}

// stays verifies a thread against a policy in the reference.
func (m *threadModel) stays(ref *threadReference, p int) {
	stays := m.allowed(p, ref.opened) && m.allowed(p, ref.last)
	if ref.verified && !stays {
		ref.end(refused)
	}
	if ref.opening != nil {
		ref.opening.keepable = ref.opening.keepable && stays
	}
}

// answersGate ends a request that changes the gate of a thread.
func (m *threadModel) answersGate(ref *threadReference, i int, outcome bridge.Outcome) {
	change := ref.changes[i]
	ref.changes = slices.Delete(slices.Clone(ref.changes), i, i+1)
	m.w.g.threads.endGateChange(change, outcome)
	applies := outcome == bridge.Succeeded || outcome == bridge.Unknown && *change.gated
	known := ref.verified || ref.opening != nil && ref.opening.keepable
	if applies && known && change.order >= ref.gateOrder {
		ref.gated, ref.gateOrder = *change.gated, change.order
	}
}

// reload replaces the active policy.
func (m *threadModel) reload(p int) {
	if p == m.active {
		return
	}
	old := m.active
	m.active = p
	m.w.g.threads.keepPolicy(m.policies[old])
	for id, v := range m.w.g.threads.beginVerifyAll(m.activePolicy()) {
		m.pending = append(m.pending, &pendingStep{id: id, v: v, answers: new(diskAnswers)})
	}
	for _, ref := range m.refs {
		before := ref.verified || ref.opening != nil && ref.opening.keepable
		if before && !slices.Contains(ref.extra, old) {
			ref.extra = append(slices.Clone(ref.extra), old)
		}
		m.stays(ref, p)
	}
}

// answers lets the disk answer a verification, or ends it.
func (m *threadModel) answers(i int) (ended bool) {
	step := m.pending[i]
	t := &m.w.g.threads
	var ask func()
	if step.opened != nil {
		ask, ended, _ = t.tryOpened(m.activePolicy, step.v, step.opened)
	} else {
		ask, ended, _ = t.tryFinish(m.activePolicy, step.id, step.v, step.answers)
	}
	if !ended {
		step.answers.asks = true
		ask()
		step.answers.asks = false
		return false
	}
	m.pending = slices.Delete(m.pending, i, i+1)
	if ref := m.refs[step.id]; step.opened != nil && ref.opening != nil && ref.opening.order == step.opened.order {
		m.endOpening(ref)
	}
	return true
}

// endOpening verifies a response in the reference.
func (m *threadModel) endOpening(ref *threadReference) {
	o := ref.opening
	ref.opening = nil
	reported := append([]settingsReference{o.result}, o.updates...)
	latest := reported[len(reported)-1]
	refused := slices.ContainsFunc(reported, func(s settingsReference) bool { return !m.allowed(m.active, s) })
	same := o.keepable && len(o.updates) == 0 && ref.last == o.result && m.allowedByAll(ref.extra, o.result)
	switch {
	case !o.differs && !refused:
		ref.verified, ref.opened, ref.last, ref.extra = true, o.result, latest, nil
		if !o.keepable || ref.gateOrder < o.order {
			ref.gated, ref.gateOrder = false, o.order
		}
	case same:
		ref.verified = true
	default:
		ref.extra = nil
	}
}

// mayTakeTurns reports whether a thread may take turns now.
func (r *threadReference) mayTakeTurns() bool {
	if o := r.opening; o != nil {
		return o.keepable && len(o.updates) == 0 && o.result == r.last
	}
	return r.verified
}

// check compares the records with the reference. settled reports that no verification is pending.
func (m *threadModel) check(t *rapid.T) {
	threads := &m.w.g.threads
	for id, ref := range m.refs {
		one := threads.peek(id)
		if one != nil && !ref.mayTakeTurns() {
			t.Fatalf("%s takes turns; the reference has %+v, %+v", id, *ref, ref.opening)
		}
		if one == nil && len(m.pending) == 0 && ref.verified {
			t.Fatalf("%s takes no turns; the reference has %+v", id, *ref)
		}
		if one != nil && (string(one.Approval) != `"`+ref.last.approval+`"` || one.Cwd != ref.last.cwd || one.Workspace != m.w.root) {
			t.Fatalf("%s has %s in %s (%s); the reference has %+v", id, one.Approval, one.Cwd, one.Workspace, ref.last)
		}
		if one != nil {
			m.checkGate(t, id, ref)
		}
		m.checkState(t, id, ref, one != nil)
		if threads.isOpenedByClient(id) != ref.openedByClient {
			t.Fatalf("%s is opened by the client: %v", id, !ref.openedByClient)
		}
		extra := threads.extraPoliciesOf(id)
		for _, p := range ref.extra {
			if one != nil && !slices.Contains(extra, m.policies[p]) {
				t.Fatalf("%s is not checked against policy %d", id, p)
			}
		}
	}
	for _, record := range threads.records {
		if record.pending != nil && !slices.ContainsFunc(m.pending, func(step *pendingStep) bool { return step.v == record.pending }) {
			t.Fatal("no step ends a verification")
		}
	}
	workspaces := 0
	if threads.count() > 0 {
		workspaces = 1
	}
	if len(threads.workspaces()) != workspaces {
		t.Fatalf("%d threads, but the workspaces %q", threads.count(), threads.workspaces())
	}
}

// checkGate compares the gate of a thread that takes turns.
func (m *threadModel) checkGate(t *rapid.T, id string, ref *threadReference) {
	may, is := ref.gated, ref.gated
	for _, change := range ref.changes {
		may, is = may || *change.gated, is && *change.gated
	}
	threads := &m.w.g.threads
	if threads.current(id, mayBeGated).Gated != may || threads.current(id, isGated).Gated != is {
		t.Fatalf("the gate of %s is not that of the reference: %+v", id, *ref)
	}
}

// checkState compares the state of a record, and whether messages wait for it.
func (m *threadModel) checkState(t *rapid.T, id string, ref *threadReference, takesTurns bool) {
	threads := &m.w.g.threads
	record := threads.records[id]
	if record == nil {
		if ref.openedByClient || takesTurns {
			t.Fatalf("%s has no record; the reference has %+v", id, *ref)
		}
		return
	}
	if (record.state == verified) != takesTurns || (record.state == opening) != (threads.pendingLocked(id) != nil) {
		t.Fatalf("%s is in state %d", id, record.state)
	}
	if record.pending == nil && !ref.verified && ref.openedByClient && record.state != ref.ended {
		t.Fatalf("%s is in state %d, not %d", id, record.state, ref.ended)
	}
	for _, step := range m.pending {
		select {
		case <-step.v.done:
			if step.v == record.pending {
				t.Fatalf("messages do not wait for the verification of %s", id)
			}
		default:
			if step.id == id && step.v != record.pending {
				t.Fatalf("messages wait for a verification of %s that has ended", id)
			}
		}
	}
}

// In each order of messages of Codex and the client, new policies and answers of the disk, a thread takes
// turns only if a plain reference lets it, with the settings that Codex has reported last. Once the disk
// has answered, it takes turns if the reference lets it.
func TestThreadsAreAsTheReference(t *testing.T) {
	w := newAgentWorld(t, nil)
	w.write("sub/x", "")
	outside := filepath.Dir(newAgentWorld(t, nil).write("x", ""))
	// With each policy the bridge may ask in place of a Codex with on-request, so the gate allows nothing more.
	allows := [][]string{{"on-request", "untrusted"}, {"on-request"}, {"on-request", "never"}}
	var policies []*policy.Policy
	for _, approvals := range allows {
		cfg := config.Default().Policy
		cfg.Mode, cfg.Sandbox, cfg.Gate, cfg.Models, cfg.Approval = config.Enforce, "read-only", true, []string{"gpt-5.5"}, approvals
		p, err := policy.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, p)
	}
	ids := []string{"a", "b"}
	approvals := rapid.SampledFrom([]string{"on-request", "untrusted", "never"})
	folders := rapid.SampledFrom([]string{w.root, filepath.Join(w.root, "sub"), outside})
	rapid.Check(t, func(t *rapid.T) {
		w.g.threads.mu.Lock()
		w.g.threads.records = nil
		w.g.threads.updateFoldersLocked()
		w.g.threads.mu.Unlock()
		m := &threadModel{w: w, policies: policies, allows: allows, refs: map[string]*threadReference{}, clients: []*Guard{w.g, w.g.Join(NoRecord, w.g.log)}}
		for _, id := range ids {
			m.refs[id] = new(threadReference)
		}
		threads := &w.g.threads
		pick := func(t *rapid.T) (string, *threadReference) {
			id := rapid.SampledFrom(ids).Draw(t, "thread")
			return id, m.refs[id]
		}
		t.Repeat(map[string]func(*rapid.T){
			"": m.check,
			"open": func(t *rapid.T) {
				id, ref := pick(t)
				if ref.opening != nil {
					return // a client's resume waits for that of another
				}
				client := m.clients[rapid.IntRange(0, len(m.clients)-1).Draw(t, "client")]
				m.opens(client, id, settingsReference{approvals.Draw(t, "approval"), w.root}, rapid.Bool().Draw(t, "differs"))
			},
			"settings": func(t *rapid.T) {
				id, ref := pick(t)
				if len(ref.delivered) > 0 {
					ref.reports = append(ref.reports, settingsReference{approvals.Draw(t, "approval"), folders.Draw(t, "cwd")})
				}
				client := m.clients[rapid.IntRange(0, len(m.clients)-1).Draw(t, "client")]
				if _, subscribed := ref.delivered[client]; subscribed { // the other one is slower
					m.deliver(id, client)
				}
			},
			"a client gets settings": func(t *rapid.T) {
				id, ref := pick(t)
				client := m.clients[rapid.IntRange(0, len(m.clients)-1).Draw(t, "client")]
				if _, subscribed := ref.delivered[client]; subscribed {
					m.deliver(id, client)
				}
			},
			"a request changes the gate": func(t *rapid.T) {
				id, ref := pick(t)
				gated := rapid.Bool().Draw(t, "gated")
				ref.changes = append(ref.changes, threads.beginGateChange(id, &gated))
			},
			"the request is answered": func(t *rapid.T) {
				if _, ref := pick(t); len(ref.changes) > 0 {
					outcome := rapid.SampledFrom([]bridge.Outcome{bridge.Succeeded, bridge.Failed, bridge.Unknown}).Draw(t, "outcome")
					m.answersGate(ref, rapid.IntRange(0, len(ref.changes)-1).Draw(t, "request"), outcome)
				}
			},
			"a policy file": func(t *rapid.T) {
				id, _ := pick(t)
				m.adds(id, rapid.IntRange(0, len(policies)-1).Draw(t, "policy"))
			},
			"policy": func(t *rapid.T) { m.reload(rapid.IntRange(0, len(policies)-1).Draw(t, "policy")) },
			"disk": func(t *rapid.T) {
				if len(m.pending) > 0 {
					m.answers(rapid.IntRange(0, len(m.pending)-1).Draw(t, "verification"))
				}
			},
			"disk, until all is known": func(*rapid.T) {
				for len(m.pending) > 0 {
					m.answers(0)
				}
			},
			"unsubscribe": func(t *rapid.T) {
				id, ref := pick(t)
				client := m.clients[rapid.IntRange(0, len(m.clients)-1).Draw(t, "client")]
				delete(ref.delivered, client)
				threads.applyAll(clientLeft{client})
				for _, other := range m.refs {
					delete(other.delivered, client)
				}
				if len(ref.delivered) == 0 {
					threads.unsubscribe(id, w.g.isOpened(id))
					ref.end(unsubscribed)
				}
			},
			"revoke": func(t *rapid.T) {
				id, ref := pick(t)
				threads.apply(id, threadRevoked{})
				ref.end(refused)
			},
			"close": func(t *rapid.T) {
				id, ref := pick(t)
				threads.apply(id, threadUnloaded{})
				ref.end(unloaded)
				ref.extra, ref.delivered, ref.reports, ref.counted = nil, nil, nil, 0
			},
			"look at idle threads": func(*rapid.T) {
				m.idle = make(map[string]uint64)
				for id, record := range threads.records {
					m.idle[id] = record.version
				}
			},
			"forget": func(*rapid.T) {
				for _, id := range threads.forget(m.idle) {
					if ref := m.refs[id]; ref.verified || ref.opening != nil {
						t.Fatalf("%s is forgotten", id)
					}
					m.refs[id] = new(threadReference)
				}
			},
			"enforcement begins": func(*rapid.T) {
				threads.applyAll(enforcementBegun{})
				for _, ref := range m.refs {
					if ref.opening != nil {
						ref.opening.keepable = false
					} else if ref.verified {
						ref.end(refused)
					}
				}
			},
		})
	})
}
