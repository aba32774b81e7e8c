package binding

import (
	"encoding/json"
	"math/rand"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/lifecycle/internal/jsontest"
)

func mustHash(t testing.TB, text string) string {
	t.Helper()
	f, err := HashFingerprint([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSame(t *testing.T) {
	const servers = `{"mcp_servers":{"a":{"command":"x"}}}`
	text, err := TextFingerprint([]byte(servers))
	if err != nil {
		t.Fatal(err)
	}
	d := mustHash(t, servers)
	bare := strings.TrimPrefix(d, "v1:sha256:")
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"nothing", "", "", true},
		{"nothing and something", "", d, false},
		{"text and digest", text, d, true},
		{"another's text", servers, d, true},
		{"a text with a space before it", ` {"mcp_servers":{"a":{"command":"x"}}}`, d, false},
		{"another's digest", bare, d, true},
		{"another's digest of another text", strings.Repeat("0", 64), d, false},
		{"opaque", "m1", "m1", true},
		{"opaque ones", "m1", "m2", false},
		{"a later version", "v2:sha256:" + bare, d, false},
		{"text that is cut off", servers[:10], servers, false},
		{"opaque text that looks like a key", "?" + servers[:10], servers[:10], false},
		{"nothing and the empty list", "", "[]", false},
		{"order of a list", `["a","b"]`, `["b","a"]`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := SameFingerprint(c.a, c.b); got != c.same {
				t.Errorf("the same: %v", got)
			}
			if got := SameFingerprint(c.b, c.a); got != c.same {
				t.Errorf("the same, the other way round: %v", got)
			}
		})
	}
}

func TestTools(t *testing.T) {
	ours := mustHash(t, `[{"name":"B"},{"name":"a"}]`)
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`[{"name":"a"},{"name":"B"}]`, ours, true}, // sorted by a language's rules
		{`v1:[{"name":"a"},{"name":"B"}]`, ours, true},
		{`[{"name":"a"}]`, ours, false},
		{"[]", mustHash(t, "[]"), true},
		{"", "[]", false},
	} {
		if got := sameTools(c.a, c.b); got != c.same {
			t.Errorf("SameTools(%s, %s) = %v", c.a, c.b, got)
		}
	}
	for f, none := range map[string]bool{"[]": true, "v1:[]": true, mustHash(t, "[ ]"): true, ours: false, "": false, "{}": false} {
		if got := hasNoTools(f); got != none {
			t.Errorf("NoTools(%q) = %v", f, got)
		}
	}
}

func TestBrief(t *testing.T) {
	d := mustHash(t, `{"a":1}`)
	for f, want := range map[string]string{"": "", "m1": "m1", `{"a":1}`: d, `v1:{"a":1}`: d, d: d, d[len("v1:sha256:"):]: d} {
		if got := ShortFingerprint(f); got != want || !SameFingerprint(got, f) {
			t.Errorf("%q is shown as %q, want %q", f, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, text := range []string{"", "{", `{"a":1,"a":2}`, `"\ud800"`, "1e999", "nul"} {
		if f, err := HashFingerprint([]byte(text)); err == nil {
			t.Errorf("%s has the fingerprint %s", text, f)
		}
		if f, err := TextFingerprint([]byte(text)); err == nil {
			t.Errorf("%s has the fingerprint %s", text, f)
		}
	}
}

// A fingerprint depends on the JSON value and not on its spelling.
func TestCanonical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := jsontest.Value(t, 3)
		rnd := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		one, other := jsontest.Write(rnd, v), jsontest.Write(rnd, v)
		a, err := HashFingerprint(one)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := HashFingerprint(other); err != nil || a != b {
			t.Fatalf("%s\n%s\nhave the fingerprints %s and %s, %v", one, other, a, b, err)
		}
		w := jsontest.Value(t, 3)
		different := !jsontest.Equal(v, w)
		b, err := HashFingerprint(jsontest.Write(rnd, w))
		if err != nil || (a != b) != different {
			t.Fatalf("%v and %v differ: %v; the fingerprints: %s, %s, %v", v, w, different, a, b, err)
		}
	})
}

func FuzzSame(f *testing.F) {
	f.Add("v1:sha256:00", "{}")
	f.Add("[]", "v1:[]")
	f.Fuzz(func(t *testing.T, a, b string) {
		if SameFingerprint(a, b) != SameFingerprint(b, a) || !SameFingerprint(a, a) || !sameTools(a, a) {
			t.Errorf("Same is no equality for %q, %q", a, b)
		}
		if json.Valid([]byte(a)) {
			if _, err := HashFingerprint([]byte(a)); err == nil && hasNoTools(a) && !sameTools(a, "[]") {
				t.Errorf("%q is no tools, and not the empty list", a)
			}
		}
	})
}
