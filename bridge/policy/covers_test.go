package policy

import (
	"fmt"
	"testing"
)

// A profile covers another one if each protected path of that one is protected by it, or lies below
// a read-only path of it.
func TestProfileCovers(t *testing.T) {
	inner := func(access string) map[string]string { return map[string]string{"x": access} }
	for _, test := range []struct {
		name        string
		has, needed map[string]any
		want        bool
	}{
		{"nothing needed", nil, nil, true},
		{"equal", map[string]any{"/a": "read"}, map[string]any{"/a": "read"}, true},
		{"missing", nil, map[string]any{"/a": "read"}, false},
		{"writable", map[string]any{"/a": "write"}, map[string]any{"/a": "read"}, false},
		{"only writable needed", nil, map[string]any{"/a": "write"}, true},
		{"below a read-only folder", map[string]any{"/a": "read"}, map[string]any{"/a/b/c": "read"}, true},
		{"above a read-only folder", map[string]any{"/a/b": "read"}, map[string]any{"/a": "read"}, false},
		{"a denied path below a read-only folder", map[string]any{"/a": "read"}, map[string]any{"/a/b": "deny"}, false},
		{"a denied path", map[string]any{"/a": "deny"}, map[string]any{"/a": "deny"}, true},
		{"in each root", map[string]any{"r": inner("read")}, map[string]any{"r": inner("read")}, true},
		{"not in each root", map[string]any{"r": inner("write")}, map[string]any{"r": inner("read")}, false},
		{"in no root", map[string]any{"r": "read"}, map[string]any{"r": inner("read")}, false},
	} {
		if got := (Profile{Entries: test.has}).covers(Profile{Entries: test.needed}); got != test.want {
			t.Errorf("%s: covers: %v", test.name, got)
		}
	}
	inRoot := Profile{Roots: []string{"/out"}, RootEntries: map[string]any{"/out/x": "read"}}
	if (Profile{Roots: inRoot.Roots}).covers(inRoot) || !(Profile{}).covers(inRoot) || !inRoot.covers(inRoot) {
		t.Error("a protected path in a root counts where the profile makes the root writable")
	}
	many := map[string]any{"/protected": "read"}
	for n := range 50 {
		many[fmt.Sprint("/", n)] = "write"
	}
	for range 20 { // the order of a map differs each time
		if (Profile{}).covers(Profile{Entries: many}) {
			t.Fatal("an unprotected path between writable ones does not count")
		}
	}
}

// Profiles are equal if all their members are.
func TestProfileEqual(t *testing.T) {
	one := Profile{Defined: true, Roots: []string{"/a"}, Entries: map[string]any{"/b": "read"}}
	if !one.equal(one) {
		t.Error("a profile does not equal itself")
	}
	for _, other := range []Profile{
		{Roots: one.Roots, Entries: one.Entries},
		{Defined: true, Entries: one.Entries},
		{Defined: true, Roots: one.Roots},
		{Defined: true, Roots: one.Roots, Entries: one.Entries, RootEntries: one.Entries},
	} {
		if one.equal(other) {
			t.Errorf("%+v equals %+v", one, other)
		}
	}
}
