package guard

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

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
func (r *threadReference) end() { r.verified, r.opening = false, nil }

// opens lets Codex open a thread. order is the number of the response.
func (m *threadModel) opens(order uint64, id string, result settingsReference, differs bool) {
	text := strings.NewReplacer("ID", id, "CWD", result.cwd, "SANDBOX", readOnlySandbox, `"on-request"`, `"`+result.approval+`"`).Replace(openedResult)
	gated := false
	o := newOpenedThread(openedThread{sent: &policy.SentSettings{Method: "thread/resume", Workspace: m.w.root, Gated: &gated}, result: value(m.w.t, text), world: m.w.g.world, order: order})
	if differs {
		o.sent.Workspace = filepath.Join(m.w.root, "sub")
	}
	ref := m.refs[id]
	ref.opening = &openingReference{order: order, result: result, differs: differs, keepable: ref.mayTakeTurns()}
	ref.verified, ref.openedByClient = false, true
	m.pending = append(m.pending, &pendingStep{id: id, opened: o, v: m.w.g.threads.beginOpened(m.activePolicy, m.w.g, o), answers: o.answers})
}

// reports lets Codex report settings.
func (m *threadModel) reports(id string, s settingsReference) {
	v := m.w.g.threads.beginUpdate(m.activePolicy, new(Guard), id, m.w.reports(s.cwd, s.approval))
	if v != nil {
		m.pending = append(m.pending, &pendingStep{id: id, v: v, answers: new(diskAnswers)})
	}
	ref := m.refs[id]
	if ref.opening != nil {
		ref.opening.updates = append(ref.opening.updates, s)
		return
	}
	ref.verified, ref.last = ref.verified && m.allowedByAll(ref.extra, s), s
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
		stays := m.allowed(p, ref.opened) && m.allowed(p, ref.last)
		ref.verified = ref.verified && stays
		if ref.opening != nil {
			ref.opening.keepable = ref.opening.keepable && stays
		}
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
		*ref = threadReference{verified: true, opened: o.result, last: latest, openedByClient: true}
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
			t.Fatal("nobody ends a verification")
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

// In each order of messages of Codex and the client, new policies and answers of the disk, a thread takes
// turns only if a plain reference lets it, with the settings that Codex has reported last. Once the disk
// has answered, it takes turns if the reference lets it.
func TestThreadsAreAsTheReference(t *testing.T) {
	w := newAgentWorld(t, nil)
	w.write("sub/x", "")
	outside := filepath.Dir(newAgentWorld(t, nil).write("x", ""))
	allows := [][]string{{"on-request", "untrusted"}, {"on-request"}, {"untrusted", "never"}}
	var policies []*policy.Policy
	for _, approvals := range allows {
		cfg := config.Default().Policy
		cfg.Mode, cfg.Sandbox, cfg.Gate, cfg.Models, cfg.Approval = config.Enforce, "read-only", false, []string{"gpt-5.5"}, approvals
		p, err := policy.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, p)
	}
	ids := []string{"a", "b", "c"}
	approvals := rapid.SampledFrom([]string{"on-request", "untrusted", "never"})
	folders := rapid.SampledFrom([]string{w.root, filepath.Join(w.root, "sub"), outside})
	rapid.Check(t, func(t *rapid.T) {
		w.g.threads.mu.Lock()
		w.g.threads.records = nil
		w.g.threads.updateFoldersLocked()
		w.g.threads.mu.Unlock()
		m := &threadModel{w: w, policies: policies, allows: allows, refs: map[string]*threadReference{}}
		for _, id := range ids {
			m.refs[id] = new(threadReference)
		}
		threads := &w.g.threads
		pick := func(t *rapid.T) (string, *threadReference) {
			id := rapid.SampledFrom(ids).Draw(t, "thread")
			return id, m.refs[id]
		}
		order := uint64(0)
		t.Repeat(map[string]func(*rapid.T){
			"": m.check,
			"open": func(t *rapid.T) {
				id, ref := pick(t)
				if ref.opening != nil {
					return // a client's resume waits for that of another
				}
				order++
				m.opens(order, id, settingsReference{approvals.Draw(t, "approval"), w.root}, rapid.Bool().Draw(t, "differs"))
			},
			"settings": func(t *rapid.T) {
				id, _ := pick(t)
				m.reports(id, settingsReference{approvals.Draw(t, "approval"), folders.Draw(t, "cwd")})
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
				threads.unsubscribe(id, w.g.isOpened(id))
				ref.end()
			},
			"revoke": func(t *rapid.T) {
				id, ref := pick(t)
				threads.apply(id, threadRevoked{})
				ref.end()
			},
			"close": func(t *rapid.T) {
				id, ref := pick(t)
				threads.apply(id, threadUnloaded{})
				ref.end()
				ref.extra = nil
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
		})
	})
}
