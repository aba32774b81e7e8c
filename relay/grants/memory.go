package grants

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/store"
	"codex-bridge/relay/redact"
)

// ErrOff means that [approvals] lets nothing be remembered for so long.
var ErrOff = errors.New("approvals.remember does not allow it")

// Options are what a Memory works with.
type Options struct {
	// Approvals are those of the configuration at hand; asked for each time, so
	// that a change counts at once.
	Approvals func() config.Approvals
	// Store is the state. Only asked for where approvals.remember is "always".
	Store func(context.Context) (*store.Store, error)
	// Secrets are texts that are secrets wherever they stand.
	Secrets []string
	// Now is the clock on the wall; nil: time.Now.
	Now func() time.Time
	// Elapsed is a clock that nobody sets; nil: that of the process.
	Elapsed func() time.Duration
}

// Memory is the approvals that are remembered.
type Memory struct {
	Options
	redactor redact.Redactor // of what people look at

	mu      sync.Mutex
	session []sessionGrant // the oldest first
}

// sessionGrant ends by both clocks: the wall's can be set back, the other one stands
// still while the machine sleeps.
type sessionGrant struct {
	Grant
	since time.Duration
}

// NewMemory makes an empty Memory; grants for always are in the store.
func NewMemory(o Options) *Memory {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Elapsed == nil {
		start := time.Now()
		o.Elapsed = func() time.Duration { return time.Since(start) }
	}
	return &Memory{Options: o, redactor: redact.New(redact.Limits{}, o.Secrets...)}
}

// Remembered is the grant that allows the request, if there is one. Where the store
// can't be read there is none.
func (m *Memory) Remembered(ctx context.Context, k Key) (*Grant, bool) {
	a := m.Approvals()
	if k.session == "" || k.asked.Escalated {
		return nil, false
	}
	m.mu.Lock()
	m.forget(a) // all, where they are switched off
	i := slices.IndexFunc(m.session, func(g sessionGrant) bool { return g.Digest == k.session })
	if i >= 0 {
		g := m.session[i].Grant
		m.mu.Unlock()
		return &g, true
	}
	m.mu.Unlock()
	if Span(a.Remember) != Always {
		return nil, false
	}
	s, err := m.Store(ctx)
	if err != nil {
		return nil, false // a person is asked, which is safe
	}
	g, found, err := s.GrantOf(ctx, k.workspace)
	if err != nil || !found || !m.counts(g, a) {
		return nil, false
	}
	return &Grant{g, Always}, true
}

// Remember keeps an approval for a span, or for what approvals.remember allows of it.
func (m *Memory) Remember(ctx context.Context, k Key, span Span, o Origin) (*Grant, error) {
	a := m.Approvals()
	switch {
	case k.session == "":
		return nil, errors.New("there is no key of what was allowed")
	case k.asked.Escalated:
		return nil, ErrEscalated
	case off(a) || span != Session && span != Always:
		return nil, ErrOff
	}
	now := m.Now().UTC().Truncate(time.Microsecond)
	g := Grant{store.Grant{
		ID: strings.ToLower(rand.Text()[:16]), Digest: k.session, Workspace: k.root, Tool: k.asked.Tool, What: m.redactor.Text(k.asked.shown(o.What)),
		Client: o.Client, Thread: k.asked.Session, Created: now, Expires: now.Add(time.Duration(a.TTL)),
	}, Session}
	if span == Always && Span(a.Remember) == Always {
		g.Remember, g.Digest = Always, k.workspace
		s, err := m.Store(ctx)
		if err != nil {
			return nil, err
		}
		if err := s.AddGrant(ctx, g.Grant, a.Max); err != nil {
			return nil, err
		}
		return &g, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(func(old sessionGrant) bool { return old.Digest == g.Digest })
	m.session = append(m.session, sessionGrant{g, m.Elapsed()})
	m.forget(a)
	return &g, nil
}

// List is what counts now, those of this bridge's sessions first.
func (m *Memory) List(ctx context.Context) ([]Grant, error) {
	a := m.Approvals()
	all := []Grant{}
	m.mu.Lock()
	m.forget(a)
	for _, g := range m.session {
		all = append(all, g.Grant)
	}
	m.mu.Unlock()
	if Span(a.Remember) != Always {
		return all, nil
	}
	s, err := m.Store(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := s.Grants(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range kept {
		if m.counts(g, a) {
			all = append(all, Grant{g, Always})
		}
	}
	return all, nil
}

// Revoke takes a grant away, and tells whether it was there.
func (m *Memory) Revoke(ctx context.Context, id string) (bool, error) {
	m.mu.Lock()
	before := len(m.session)
	m.drop(func(g sessionGrant) bool { return g.ID == id })
	gone := len(m.session) < before
	m.mu.Unlock()
	if gone || Span(m.Approvals().Remember) != Always {
		return gone, nil
	}
	s, err := m.Store(ctx)
	if err != nil {
		return false, err
	}
	return s.RevokeGrant(ctx, id)
}

func off(a config.Approvals) bool {
	return Span(a.Remember) != Session && Span(a.Remember) != Always
}

// counts holds a grant to its own end and to that of the configuration at hand, which
// may have become stricter.
func (m *Memory) counts(g store.Grant, a config.Approvals) bool {
	now := m.Now()
	return g.At(now) && now.Before(g.Created.Add(time.Duration(a.TTL)))
}

// forget drops what counts no more. m.mu is held.
func (m *Memory) forget(a config.Approvals) {
	if off(a) {
		m.session = nil
		return
	}
	m.drop(func(g sessionGrant) bool {
		age := m.Elapsed() - g.since
		return age >= g.Expires.Sub(g.Created) || age >= time.Duration(a.TTL) || !m.counts(g.Grant.Grant, a)
	})
	if more := len(m.session) - a.Max; more > 0 {
		m.session = slices.Delete(m.session, 0, more)
	}
}

func (m *Memory) drop(which func(sessionGrant) bool) {
	m.session = slices.DeleteFunc(m.session, which)
}
