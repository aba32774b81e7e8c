package store_test

import (
	"fmt"
	"testing"
	"time"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"

	"github.com/google/go-cmp/cmp"
)

func testGrant(n int, workspace string) decision.Grant {
	created := noon.Add(time.Duration(n) * time.Minute)
	return decision.Grant{
		ID: fmt.Sprint("g", n), Digest: fmt.Sprint("d", n), Workspace: workspace, Tool: "Bash", What: "make", Client: "zed", Thread: "T",
		Created: created, Expires: created.Add(time.Hour),
	}
}

func grantIDs(t *testing.T, s *store.Store) []string {
	t.Helper()
	all, err := s.Grants(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, g := range all {
		ids = append(ids, g.ID)
	}
	return ids
}

func TestGrants(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s, other := open(t, o), open(t, o)
		add := func(g decision.Grant, most int) {
			t.Helper()
			if err := s.AddGrant(t.Context(), g, most); err != nil {
				t.Fatal(err)
			}
		}
		check := func(step string, want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, grantIDs(t, other)); diff != "" {
				t.Errorf("%s: %s", step, diff)
			}
		}
		for n := range 3 {
			add(testGrant(n, "/a"), 9)
		}
		got, found, err := other.GrantByDigest(t.Context(), "d1")
		want := testGrant(1, "/a")
		want.Created, want.Expires = want.Created.UTC().Truncate(time.Microsecond), want.Expires.UTC().Truncate(time.Microsecond)
		if diff := cmp.Diff(want, got); diff != "" || !found || err != nil {
			t.Error(found, err, diff)
		}
		if _, found, err := other.GrantByDigest(t.Context(), "d"); found || err != nil {
			t.Error("GrantByDigest found a part of a digest", err)
		}
		again := testGrant(1, "/a")
		again.ID = "again"
		add(again, 9)
		check("one digest, one grant", "g0", "g2", "again")
		add(testGrant(3, "/b"), 1)
		add(testGrant(4, "/a"), 2)
		check("the oldest of a workspace goes", "again", "g3", "g4")
		if there, err := other.RevokeGrant(t.Context(), "g4"); !there || err != nil {
			t.Error(there, err)
		}
		if there, err := s.RevokeGrant(t.Context(), "g4"); there || err != nil {
			t.Error(there, err)
		}
		if _, found, err := s.GrantByDigest(t.Context(), "d4"); found || err != nil {
			t.Error("GrantByDigest found a revoked grant", err)
		}
		add(testGrant(63, "/c"), 9)
		check("what has ended goes", "g63")
		if n, err := s.RevokeGrants(t.Context()); n != 1 || err != nil {
			t.Error(n, err)
		}
		check("all revoked")
	})
}

func TestGrantActiveAt(t *testing.T) {
	g := testGrant(0, "/a")
	for at, want := range map[time.Duration]bool{-1: false, 0: true, time.Hour - 1: true, time.Hour: false} {
		if got := g.ActiveAt(noon.Add(at)); got != want {
			t.Errorf("%v after it was made: %v", at, got)
		}
	}
}

// An unreadable table is an error. It does not count as empty.
func TestGrantsWithoutTable(t *testing.T) {
	onEach(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		execSQL(t, s.DB(), "DROP TABLE grants")
		if err := s.AddGrant(t.Context(), testGrant(0, "/a"), 1); err == nil {
			t.Error("AddGrant returned no error without its table")
		}
		if _, found, err := s.GrantByDigest(t.Context(), "d0"); err == nil || found {
			t.Error("GrantByDigest returned no error without its table")
		}
		if _, err := s.Grants(t.Context()); err == nil {
			t.Error("Grants returned no error without its table")
		}
		if _, err := s.RevokeGrants(t.Context()); err == nil {
			t.Error("RevokeGrants returned no error without its table")
		}
	})
}
