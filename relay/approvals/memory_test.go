package approvals_test

import (
	"codex-bridge.example/relay/approvals"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

func TestSessionGrants(t *testing.T) {
	a := newRequest(t)
	k := newKey(t, a)
	w := newFixture(t, "", approvals.Session)
	w.check(t, "before", k, false)
	g := w.remember(t, k, approvals.Session)
	w.check(t, "after", k, true)
	w.check(t, "another session", newKey(t, changed(a, func(a *approvals.Request) { a.Session = "U" })), false)
	newFixture(t, "", approvals.Session).check(t, "another bridge", k, false)
	if g.Thread != "T" || g.Tool != "Bash" || g.Client != "zed" || g.What != "make (sandbox: read-only)" || g.Remember != approvals.Session {
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

// An answer from before the end of an exception does not count after it. One from after it does.
func TestAnswersToAnExceptionEndWithIt(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	for _, span := range []approvals.Span{approvals.Session, approvals.Always} {
		w := newFixture(t, state, approvals.Always)
		before := newRequest(t)
		after := newKey(t, changed(before, func(a *approvals.Request) { a.Terms.Since = noon.Add(time.Minute) }))
		w.remember(t, newKey(t, before), span)
		w.now, w.elapsed = noon.Add(2*time.Minute), 2*time.Minute
		w.check(t, "the same question without an end", newKey(t, before), true)
		w.check(t, "an answer from before", after, false)
		w.remember(t, after, span)
		w.check(t, "an answer from after", after, true)
	}
}

// An answer counts only if the same rules asked when it was given. It does not answer a rule that was added later.
func TestAnswerCountsForTheRulesThatAsked(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	request := newRequest(t)
	askedBy := func(rules ...string) approvals.Key {
		return newKey(t, changed(request, func(a *approvals.Request) { a.Terms.AskedBy = rules }))
	}
	for _, span := range []approvals.Span{approvals.Session, approvals.Always} {
		w := newFixture(t, state, approvals.Always)
		w.remember(t, askedBy(), span)
		w.check(t, "no rule", askedBy(), true)
		w.check(t, "a rule that was added later", askedBy("a"), false)
		w.remember(t, askedBy("a"), span)
		w.check(t, "the same rule", askedBy("a"), true)
		w.check(t, "another rule, too", askedBy("a", "b"), false)
	}
}

// Listed texts have no secrets, including the configured ones.
func TestListedTextsAreRedacted(t *testing.T) {
	w := newFixture(t, "", approvals.Session)
	for what, want := range map[string]string{
		"make": "make", "curl -H 'Authorization: Bearer abcdef0123'": "curl -H 'Authorization: <redacted>'",
		"login ada rosebud in the snow": "login ada <redacted>",
	} {
		g, err := w.Remember(t.Context(), newKey(t, newRequest(t)), approvals.Session, approvals.Origin{What: what})
		if err != nil || g.What != want+" (sandbox: read-only)" {
			t.Errorf("%+v, %v", g, err)
		}
	}
}

// "always" becomes "session" if the configuration allows no more; "session" stays.
func TestSpanIsLimitedByConfiguration(t *testing.T) {
	k := newKey(t, newRequest(t))
	w := newFixture(t, "", approvals.Session)
	if g := w.remember(t, k, approvals.Always); g.Remember != approvals.Session {
		t.Error(g)
	}
	state := filepath.Join(t.TempDir(), "state")
	w = newFixture(t, state, approvals.Always)
	w.remember(t, k, approvals.Session)
	newFixture(t, state, approvals.Always).check(t, "another bridge", k, false)
	w.approvals.Remember = "off"
	w.check(t, "switched off", k, false)
	w.approvals.Remember = "always"
	w.check(t, "and on again", k, false)
	w.approvals.Remember = "off"
	if _, err := w.Remember(t.Context(), k, approvals.Session, approvals.Origin{}); !errors.Is(err, approvals.ErrOff) {
		t.Error(err)
	}
}

func TestSessionGrantsExpire(t *testing.T) {
	k := newKey(t, newRequest(t))
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
		w := newFixture(t, "", approvals.Session)
		w.remember(t, k, approvals.Session)
		w.now, w.elapsed = noon.Add(tt.wall), tt.elapsed
		w.check(t, tt.name, k, tt.want)
	}
	w := newFixture(t, "", approvals.Session)
	w.remember(t, k, approvals.Session)
	w.elapsed = time.Minute
	w.approvals.TTL = 0
	w.check(t, "a shorter ttl in the configuration", k, false)
}

func TestOldestGrantsAreDropped(t *testing.T) {
	a := newRequest(t)
	for _, span := range []approvals.Span{approvals.Session, approvals.Always} {
		w := newFixture(t, filepath.Join(t.TempDir(), "state"), span)
		var keys []approvals.Key
		for i := range 4 {
			keys = append(keys, newKey(t, changed(a, func(a *approvals.Request) { a.Input = fmt.Append(nil, i) })))
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

// Two bridges share a store, and a third opens it later.
func TestGrantsInTheStoreAreShared(t *testing.T) {
	a := newRequest(t)
	k, state := newKey(t, a), filepath.Join(t.TempDir(), "state")
	w, other := newFixture(t, state, approvals.Always), newFixture(t, state, approvals.Always)
	g := w.remember(t, k, approvals.Always)
	w.check(t, "here", k, true)
	other.check(t, "there", k, true)
	other.check(t, "another session", newKey(t, changed(a, func(a *approvals.Request) { a.Session = "U" })), true)
	other.check(t, "another workspace", newKey(t, changed(a, func(a *approvals.Request) { a.Workspace = a.Cwd })), false)
	other.check(t, "escalated", newKey(t, changed(a, func(a *approvals.Request) { a.Escalated = true })), false)
	newFixture(t, state, approvals.Always).check(t, "after a restart", k, true)
	for after, want := range map[time.Duration]bool{-time.Second: false, 0: true, 30*time.Minute - 1: true, 30 * time.Minute: false} {
		other.now = noon.Add(after)
		other.check(t, fmt.Sprint("after ", after), k, want)
	}
	other.now = noon
	other.broken = errors.New("the disk is gone")
	other.check(t, "a broken store", k, false)
	if _, err := other.Remember(t.Context(), k, approvals.Always, approvals.Origin{}); err == nil {
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

// Escalated requests and the zero key are not remembered.
func TestEscalatedRequestsAreNotRemembered(t *testing.T) {
	w := newFixture(t, "", approvals.Session)
	escalated := newKey(t, changed(newRequest(t), func(a *approvals.Request) { a.Escalated = true }))
	for _, k := range []approvals.Key{escalated, {}} {
		if g, err := w.Remember(t.Context(), k, approvals.Session, approvals.Origin{}); err == nil {
			t.Errorf("%+v", g)
		}
		w.check(t, "not remembered", k, false)
	}
}
