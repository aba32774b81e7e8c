package grants_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"codex-bridge/relay/grants"
)

func TestSession(t *testing.T) {
	a := asked(t)
	k := key(t, a)
	w := newWorld(t, "", grants.Session)
	w.check(t, "before", k, false)
	g := w.remember(t, k, grants.Session)
	w.check(t, "after", k, true)
	w.check(t, "another session", key(t, with(a, func(a *grants.Asked) { a.Session = "U" })), false)
	newWorld(t, "", grants.Session).check(t, "another bridge", k, false)
	if g.Thread != "T" || g.Tool != "Bash" || g.Client != "zed" || g.What != "make (sandbox: read-only)" || g.Remember != grants.Session {
		t.Errorf("%+v", g)
	}
	if gone, err := w.Revoke(t.Context(), "x"); gone || err != nil {
		t.Error(gone, err)
	}
	if gone, err := w.Revoke(t.Context(), g.ID); !gone || err != nil {
		t.Error(gone, err)
	}
	w.check(t, "revoked", k, false)
}

// What a list shows has no secrets, those that are known among them.
func TestWhat(t *testing.T) {
	w := newWorld(t, "", grants.Session)
	for what, want := range map[string]string{
		"make": "make", "curl -H 'Authorization: Bearer abcdef0123'": "curl -H 'Authorization: <redacted>'",
		"login ada rosebud in the snow": "login ada <redacted>",
	} {
		g, err := w.Remember(t.Context(), key(t, asked(t)), grants.Session, grants.Origin{What: what})
		if err != nil || g.What != want+" (sandbox: read-only)" {
			t.Errorf("%+v, %v", g, err)
		}
	}
}

// An answer for always is one for the session where no more is allowed, and one for
// the session stays that where more is.
func TestSpan(t *testing.T) {
	k := key(t, asked(t))
	w := newWorld(t, "", grants.Session)
	if g := w.remember(t, k, grants.Always); g.Remember != grants.Session {
		t.Error(g)
	}
	state := filepath.Join(t.TempDir(), "state")
	w = newWorld(t, state, grants.Always)
	w.remember(t, k, grants.Session)
	newWorld(t, state, grants.Always).check(t, "another bridge", k, false)
	w.approvals.Remember = "off"
	w.check(t, "switched off", k, false)
	w.approvals.Remember = "always"
	w.check(t, "and on again", k, false)
	w.approvals.Remember = "off"
	if _, err := w.Remember(t.Context(), k, grants.Session, grants.Origin{}); !errors.Is(err, grants.ErrOff) {
		t.Error(err)
	}
}

func TestSessionEnds(t *testing.T) {
	k := key(t, asked(t))
	for _, tt := range []struct {
		name          string
		wall, elapsed time.Duration
		want          bool
	}{
		{"in time", 30*time.Minute - 1, 30*time.Minute - 1, true},
		{"ttl", 30 * time.Minute, 30 * time.Minute, false},
		{"the wall's clock stands", 0, 30 * time.Minute, false},
		{"the machine slept", 30 * time.Minute, 0, false},
		{"the wall's clock set back", -time.Hour, time.Minute, false},
	} {
		w := newWorld(t, "", grants.Session)
		w.remember(t, k, grants.Session)
		w.now, w.elapsed = noon.Add(tt.wall), tt.elapsed
		w.check(t, tt.name, k, tt.want)
	}
	w := newWorld(t, "", grants.Session)
	w.remember(t, k, grants.Session)
	w.elapsed = time.Minute
	w.approvals.TTL = 0
	w.check(t, "a shorter ttl in the configuration", k, false)
}

func TestMost(t *testing.T) {
	a := asked(t)
	for _, span := range []grants.Span{grants.Session, grants.Always} {
		w := newWorld(t, filepath.Join(t.TempDir(), "state"), span)
		var keys []grants.Key
		for i := range 4 {
			keys = append(keys, key(t, with(a, func(a *grants.Asked) { a.Input = fmt.Append(nil, i) })))
			w.remember(t, keys[i], span)
		}
		for i, k := range keys {
			w.check(t, fmt.Sprint(span, " ", i), k, i > 0)
		}
		if all, err := w.List(t.Context()); len(all) != 3 || err != nil {
			t.Error(all, err)
		}
	}
}

// Two bridges on one store, and one that comes later.
func TestAlways(t *testing.T) {
	a := asked(t)
	k, state := key(t, a), filepath.Join(t.TempDir(), "state")
	w, other := newWorld(t, state, grants.Always), newWorld(t, state, grants.Always)
	g := w.remember(t, k, grants.Always)
	w.check(t, "here", k, true)
	other.check(t, "there", k, true)
	other.check(t, "another session", key(t, with(a, func(a *grants.Asked) { a.Session = "U" })), true)
	other.check(t, "another workspace", key(t, with(a, func(a *grants.Asked) { a.Workspace = a.Cwd })), false)
	other.check(t, "escalated", key(t, with(a, func(a *grants.Asked) { a.Escalated = true })), false)
	newWorld(t, state, grants.Always).check(t, "after a restart", k, true)
	for after, want := range map[time.Duration]bool{-time.Second: false, 0: true, 30*time.Minute - 1: true, 30 * time.Minute: false} {
		other.now = noon.Add(after)
		other.check(t, fmt.Sprint("after ", after), k, want)
	}
	other.now = noon
	other.broken = errors.New("the disk is gone")
	other.check(t, "a broken store", k, false)
	if _, err := other.Remember(t.Context(), k, grants.Always, grants.Origin{}); err == nil {
		t.Error("a broken store remembers")
	}
	if _, err := other.List(t.Context()); err == nil {
		t.Error("a broken store lists")
	}
	other.broken = nil
	if gone, err := other.Revoke(t.Context(), g.ID); !gone || err != nil {
		t.Error(gone, err)
	}
	w.check(t, "revoked over there", k, false)
}

// What leaves the sandbox is not remembered, and nothing is not either.
func TestNotRemembered(t *testing.T) {
	w := newWorld(t, "", grants.Session)
	escalated := key(t, with(asked(t), func(a *grants.Asked) { a.Escalated = true }))
	for _, k := range []grants.Key{escalated, {}} {
		if g, err := w.Remember(t.Context(), k, grants.Session, grants.Origin{}); err == nil {
			t.Errorf("%+v", g)
		}
		w.check(t, "not remembered", k, false)
	}
}
