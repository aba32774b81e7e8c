package approvals

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/relay/redact"
)

// ErrOff is returned if approvals.remember does not allow the span.
var ErrOff = errors.New("approvals.remember does not allow it")

// Store keeps grants beyond the session.
type Store interface {
	AddGrant(ctx context.Context, g decision.Grant, limit int) error
	GrantByDigest(ctx context.Context, digest string) (g decision.Grant, found bool, err error)
	Grants(context.Context) ([]decision.Grant, error)
	RevokeGrant(ctx context.Context, id string) (bool, error)
}

// MemoryOptions configure a Memory.
type MemoryOptions struct {
	// Approvals returns the current configuration. It is called each time, so changes apply
	// at once.
	Approvals func() config.Approvals
	// Store returns the store. It is called only if approvals.remember is "always".
	Store func(context.Context) (Store, error)
	// Secrets are texts to redact in lists.
	Secrets []string
	// Now is the wall clock; nil: time.Now.
	Now func() time.Time
	// Elapsed is a monotonic clock; nil: the process's.
	Elapsed func() time.Duration
}

// Memory holds the remembered approvals.
type Memory struct {
	MemoryOptions
	redactor redact.Redactor // of texts for lists

	mu      sync.Mutex
	session []sessionGrant // oldest first
}

// sessionGrant expires by either clock: the wall clock can be set back, and the monotonic
// one stops while the machine sleeps.
type sessionGrant struct {
	Grant
	since time.Duration
}

// NewMemory returns a Memory without session grants.
func NewMemory(o MemoryOptions) *Memory {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Elapsed == nil {
		start := time.Now()
		o.Elapsed = func() time.Duration { return time.Since(start) }
	}
	return &Memory{MemoryOptions: o, redactor: redact.New(redact.Limits{}, o.Secrets...)}
}

// Lookup returns the grant that allows the request. It returns none if the store can't be
// read.
func (m *Memory) Lookup(ctx context.Context, k Key) (*Grant, bool) {
	a := m.Approvals()
	if k.session == "" || k.request.Escalated {
		return nil, false
	}
	m.mu.Lock()
	m.removeInvalid(a) // removes all if remembering is off
	i := slices.IndexFunc(m.session, func(g sessionGrant) bool {
		return g.Digest == k.session && !g.Created.Before(k.request.Terms.Since)
	})
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
		return nil, false // the person is asked, which is safe
	}
	g, found, err := s.GrantByDigest(ctx, k.workspace)
	if err != nil || !found || !m.isValid(g, a) || g.Created.Before(k.request.Terms.Since) {
		return nil, false
	}
	return &Grant{g, Always}, true
}

// Remember stores an approval for the span, or for the longest that approvals.remember
// allows.
func (m *Memory) Remember(ctx context.Context, k Key, span Span, o Origin) (*Grant, error) {
	a := m.Approvals()
	switch {
	case k.session == "":
		return nil, errors.New("the request has no key")
	case k.request.Escalated:
		return nil, ErrEscalated
	case isOff(a) || span != Session && span != Always:
		return nil, ErrOff
	}
	now := m.Now().UTC().Truncate(time.Microsecond)
	g := Grant{decision.Grant{
		ID: strings.ToLower(rand.Text()[:16]), Digest: k.session, Workspace: k.root, Tool: m.redactor.Text(k.request.Tool), What: m.redactor.Text(k.request.describe(o.What)),
		Client: m.redactor.Text(o.Client), Thread: k.request.Session, Created: now, Expires: now.Add(time.Duration(a.TTL)),
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
	m.remove(func(old sessionGrant) bool { return old.Digest == g.Digest })
	m.session = append(m.session, sessionGrant{g, m.Elapsed()})
	m.removeInvalid(a)
	return &g, nil
}

// List returns the valid grants, session grants first.
func (m *Memory) List(ctx context.Context) ([]Grant, error) {
	a := m.Approvals()
	all := []Grant{}
	m.mu.Lock()
	m.removeInvalid(a)
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
		if m.isValid(g, a) {
			all = append(all, Grant{g, Always})
		}
	}
	return all, nil
}

// Revoke removes a grant and reports whether it existed.
func (m *Memory) Revoke(ctx context.Context, id string) (bool, error) {
	m.mu.Lock()
	before := len(m.session)
	m.remove(func(g sessionGrant) bool { return g.ID == id })
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

func isOff(a config.Approvals) bool {
	return Span(a.Remember) != Session && Span(a.Remember) != Always
}

// isValid checks a grant against its own expiry and against the configured TTL, which may
// have become shorter.
func (m *Memory) isValid(g decision.Grant, a config.Approvals) bool {
	now := m.Now()
	return g.ActiveAt(now) && now.Before(g.Created.Add(time.Duration(a.TTL)))
}

// removeInvalid removes session grants that have expired or exceed the maximum. m.mu is
// held.
func (m *Memory) removeInvalid(a config.Approvals) {
	if isOff(a) {
		m.session = nil
		return
	}
	m.remove(func(g sessionGrant) bool {
		age := m.Elapsed() - g.since
		return age >= g.Expires.Sub(g.Created) || age >= time.Duration(a.TTL) || !m.isValid(g.Grant.Grant, a)
	})
	if more := len(m.session) - a.Max; more > 0 {
		m.session = slices.Delete(m.session, 0, more)
	}
}

func (m *Memory) remove(which func(sessionGrant) bool) {
	m.session = slices.DeleteFunc(m.session, which)
}

// Span is how long an approval is remembered: a value of approvals.remember.
type Span string

// The spans.
const (
	Off     Span = "off"
	Session Span = "session" // for the session, until the bridge exits
	Always  Span = "always"  // for the workspace, in the store
)

// Grant is a remembered approval.
type Grant struct {
	decision.Grant
	Remember Span `json:"remember"`
}

// Origin describes for people where a grant comes from.
type Origin struct {
	Client string // the client's name and version
	What   string // the command, or the tool's arguments
}
