package grants_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"codex-bridge/relay/grants"
)

// call is a request whose parts can be changed one by one.
type call struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Note    string            `json:"note"`
}

func (c call) clone() call {
	env := make(map[string]string)
	for name, value := range c.Env {
		env[name] = value
	}
	return call{slices.Clone(c.Command), env, c.Note}
}

func (c call) same(d call) bool {
	if !slices.Equal(c.Command, d.Command) || c.Note != d.Note || len(c.Env) != len(d.Env) {
		return false
	}
	for name, value := range c.Env {
		if other, ok := d.Env[name]; !ok || other != value {
			return false
		}
	}
	return true
}

// odd are the texts that a text is changed by: what looks like something else, or
// like nothing.
var odd = []string{
	" ", "\t", "\n", "\u00a0", "\u200b", "\u202e", "\ufeff", "\u0301", "\x00", "'", `"`, `\`, "`", "$", ";", "|", "&", "*", "~", "#", ",", ":", "{", "}",
	"а", "е", "о", "ⅰ", "ﬁ", "é", "e\u0301", "Å", "\u212b", "／", "‐", "–", "0", "1", "a", "/", ".", "..", "-", "--", "\u2028", "😀",
}

// likes are letters and what they are mistaken for.
var likes = strings.NewReplacer("a", "а", "e", "е", "o", "о", "c", "с", "p", "р", "i", "і", "-", "‐", "/", "∕", " ", "\u00a0")

func mutateText(r *rand.Rand, text string) string {
	at := r.IntN(len(text) + 1)
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	one := odd[r.IntN(len(odd))]
	switch r.IntN(8) {
	case 0:
		return text + " "
	case 1:
		return text[:at]
	case 2:
		return "'" + text + "'"
	case 3:
		return likes.Replace(text)
	case 4:
		return strings.ToUpper(text)
	case 5:
		return text + one
	default:
		return text[:at] + one + text[at:]
	}
}

func mutate(r *rand.Rand, c call) call {
	c = c.clone()
	i := r.IntN(len(c.Command))
	switch r.IntN(10) {
	case 0:
		j := r.IntN(len(c.Command))
		c.Command[i], c.Command[j] = c.Command[j], c.Command[i]
	case 1:
		c.Command = slices.Insert(c.Command, i, odd[r.IntN(len(odd))])
	case 2:
		c.Command = slices.Delete(c.Command, i, i+1)
	case 3:
		c.Command = []string{strings.Join(c.Command, " ")}
	case 4:
		c.Command = slices.Concat(c.Command[:i], strings.SplitAfter(c.Command[i], " "), c.Command[i+1:])
	case 5:
		c.Env["HOME"] = mutateText(r, c.Env["HOME"])
	case 6:
		c.Env[mutateText(r, "LANG")] = "C"
	case 7:
		c.Note = mutateText(r, c.Note)
	default:
		c.Command[i] = mutateText(r, c.Command[i])
	}
	return c
}

// 100,000 changed requests, none of which was allowed; and the one that was, in
// other spellings of the same JSON.
func TestMutations(t *testing.T) {
	const count = 100_000
	a := asked(t)
	first := call{[]string{"git", "commit", "-a", "-m", "say hello, peace", "--", "src/a.c"}, map[string]string{"HOME": "/home/me", "LANG": "C"}, ""}
	text := func(v any) []byte {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	w := newWorld(t, "", grants.Session)
	a.Input = text(first)
	w.remember(t, key(t, a), grants.Session)
	r := rand.New(rand.NewPCG(4, 5))
	changed := 0
	for range count {
		c := first
		for range 1 + r.IntN(3) {
			if c = mutate(r, c); len(c.Command) == 0 {
				c.Command = []string{""}
			}
		}
		b := a
		b.Input = text(c)
		same := c.same(first)
		switch r.IntN(8) {
		case 0:
			b.Cwd, same = b.Workspace, false
		case 1:
			b.Tool, same = mutateText(r, b.Tool), false
			if b.Tool == a.Tool || b.Tool == "" {
				continue
			}
		case 2:
			b.Input = text(map[string]any{"note": c.Note, "env": c.Env, "command": c.Command}) // sorted, another order
		}
		if !same {
			changed++
		}
		k, err := grants.NewKey(b)
		if err != nil {
			t.Fatalf("%s: %v", b.Input, err)
		}
		if _, hit := w.Remembered(t.Context(), k); hit != same {
			t.Fatalf("remembered %v, want %v: %s in %s, %s; allowed was %s", hit, same, b.Input, b.Cwd, b.Tool, a.Input)
		}
	}
	if changed < count*9/10 {
		t.Errorf("only %d of %d are changed", changed, count)
	}
}

// FuzzInput: two inputs have one key only when they are the same JSON, number by
// number as they are written.
func FuzzInput(f *testing.F) {
	f.Add([]byte(`{"a":["b"]}`), []byte(`{"a": ["\u0062"]}`))
	f.Add([]byte(`["1\"a"]`), []byte(`["1","a"]`))
	f.Add([]byte(`{"a":1,"b":{}}`), []byte(`{"a":{"b":1}}`))
	f.Add([]byte(`[1,2]`), []byte(`[12]`))
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, one, other []byte) {
		a := grants.Asked{Provider: "codex", Session: "T", Workspace: folder, Tool: "Bash"}
		a.Input = one
		k, err := grants.NewKey(a)
		if err != nil {
			return
		}
		a.Input = other
		l, err := grants.NewKey(a)
		if err != nil {
			return
		}
		if got, want := k.Digest() == l.Digest(), bytes.Equal(plain(t, one), plain(t, other)); got != want {
			t.Errorf("%s and %s: one key %v, one value %v", one, other, got, want)
		}
	})
}

// plain is another way to one spelling: the standard library sorts members and keeps
// the text of numbers.
func plain(t *testing.T, text []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s has a key: %v", text, err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
