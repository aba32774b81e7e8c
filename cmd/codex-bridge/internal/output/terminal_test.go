package output

import (
	"bytes"
	"encoding/json"
	"testing"
)

// For any text of clients or models, in writes of any size, the output has no character that acts
// on a terminal. JSON keeps its values.
func TestSafeWriterEscapes(t *testing.T) {
	const text = "a\tü€😀\n\x1b[2J\r\u0085\u009b31m\u007f\u061c\u200e\u202e\u2066\u2028\u2029 \u200d \xc2\x9b\xff\x9b\xe2\x80"
	const want = "a\tü€😀\n\\u001b[2J\\r\\u0085\\u009b31m\\u007f\\u061c\\u200e\\u202e\\u2066\\u2028\\u2029 \u200d \\u009b\uFFFD\uFFFD\uFFFD"
	for size := 1; size < len(text); size++ {
		var out bytes.Buffer
		w := NewSafeWriter(&out)
		for rest := text; rest != ""; {
			part := rest[:min(size, len(rest))]
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("%d of %d bytes were written: %v", n, len(part), err)
			}
			rest = rest[len(part):]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Fatalf("in writes of %d bytes:\n got %q\nwant %q", size, out.String(), want)
		}
	}
	value := "\x1b\u0085\u202e\u2028"
	var out bytes.Buffer
	enc := json.NewEncoder(NewSafeWriter(&out))
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got != value || bytes.ContainsAny(out.Bytes(), value) {
		t.Errorf("%q became %q: %v", value, out.String(), err)
	}
}
