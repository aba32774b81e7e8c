package approvals_test

import (
	"bytes"
	"codex-bridge.example/relay/approvals"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// toolCall is a request whose parts a test can change one by one.
type toolCall struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Note    string            `json:"note"`
}

func (c toolCall) clone() toolCall {
	env := make(map[string]string)
	for name, value := range c.Env {
		env[name] = value
	}
	return toolCall{slices.Clone(c.Command), env, c.Note}
}

func (c toolCall) same(d toolCall) bool {
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

// oddTexts are replacements that look like other texts, or like none.
var oddTexts = []string{
	" ", "\t", "\n", "\u00a0", "\u200b", "\u202e", "\ufeff", "\u0301", "\x00", "'", `"`, `\`, "`", "$", ";", "|", "&", "*", "~", "#", ",", ":", "{", "}",
	"а", "е", "о", "ⅰ", "ﬁ", "é", "e\u0301", "Å", "\u212b", "／", "‐", "–", "0", "1", "a", "/", ".", "..", "-", "--", "\u2028", "😀",
}

// lookalikes are letters and others that look like them.
var lookalikes = strings.NewReplacer("a", "а", "e", "е", "o", "о", "c", "с", "p", "р", "i", "і", "-", "‐", "/", "∕", " ", "\u00a0")

func mutateText(r *rand.Rand, text string) string {
	at := r.IntN(len(text) + 1)
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	one := oddTexts[r.IntN(len(oddTexts))]
	switch r.IntN(8) {
	case 0:
		return text + " "
	case 1:
		return text[:at]
	case 2:
		return "'" + text + "'"
	case 3:
		return lookalikes.Replace(text)
	case 4:
		return strings.ToUpper(text)
	case 5:
		return text + one
	default:
		return text[:at] + one + text[at:]
	}
}

func mutate(r *rand.Rand, c toolCall) toolCall {
	c = c.clone()
	i := r.IntN(len(c.Command))
	switch r.IntN(10) {
	case 0:
		j := r.IntN(len(c.Command))
		c.Command[i], c.Command[j] = c.Command[j], c.Command[i]
	case 1:
		c.Command = slices.Insert(c.Command, i, oddTexts[r.IntN(len(oddTexts))])
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

// None of 100,000 changed requests is granted; other spellings of the granted JSON are.
func TestNoMutationOfARequestIsGranted(t *testing.T) {
	const count = 100_000
	a := newRequest(t)
	first := toolCall{[]string{"git", "commit", "-a", "-m", "say hello, peace", "--", "src/a.c"}, map[string]string{"HOME": "/home/me", "LANG": "C"}, ""}
	text := func(v any) []byte {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	w := newFixture(t, "", approvals.Session)
	a.Input = text(first)
	w.remember(t, newKey(t, a), approvals.Session)
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
			b.Input = text(map[string]any{"note": c.Note, "env": c.Env, "command": c.Command}) // sorted: another order of members
		}
		if !same {
			changed++
		}
		k, err := approvals.NewKey(b)
		if err != nil {
			t.Fatalf("%s: %v", b.Input, err)
		}
		if _, hit := w.Lookup(t.Context(), k); hit != same {
			t.Fatalf("remembered %v, want %v: %s in %s, %s; allowed was %s", hit, same, b.Input, b.Cwd, b.Tool, a.Input)
		}
	}
	if changed < count*9/10 {
		t.Errorf("only %d of %d are changed", changed, count)
	}
}

// FuzzInput checks that two inputs have equal keys only if they are equal JSON, with
// numbers compared as written.
func FuzzInput(f *testing.F) {
	f.Add([]byte(`{"a":["b"]}`), []byte(`{"a": ["\u0062"]}`))
	f.Add([]byte(`["1\"a"]`), []byte(`["1","a"]`))
	f.Add([]byte(`{"a":1,"b":{}}`), []byte(`{"a":{"b":1}}`))
	f.Add([]byte(`[1,2]`), []byte(`[12]`))
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, one, other []byte) {
		a := approvals.Request{Provider: "codex", Session: "T", Workspace: folder, Tool: "Bash"}
		a.Input = one
		k, err := approvals.NewKey(a)
		if err != nil {
			return
		}
		a.Input = other
		l, err := approvals.NewKey(a)
		if err != nil {
			return
		}
		if got, want := k.Digest() == l.Digest(), bytes.Equal(sortedJSON(t, one), sortedJSON(t, other)); got != want {
			t.Errorf("%s and %s: one key %v, one value %v", one, other, got, want)
		}
	})
}

// sortedJSON computes a canonical form with the standard library: it sorts members and
// keeps numbers as written.
func sortedJSON(t *testing.T, text []byte) []byte {
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
