package rpc_test

import (
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/rpc"
)

// An error names the offset of the fault, counted from 1, and the key, up to 40 bytes of it.
func TestErrorsNameTheOffset(t *testing.T) {
	key := func(n int) string { return strings.Repeat("k", n) }
	twice := func(name string) string { return `{"` + name + `":1,"` + name + `":2}` }
	many := object(rpc.MaxCompared-1, `"a":1`, `"a":2`)
	sorted := object(rpc.MaxCompared, `"a":1`, `"a":2`)
	// The last key that is compared one by one, and the first that is sorted, are equal to
	// an earlier one.
	compared, behind := object(rpc.MaxCompared-1, `"member-a0":1`), object(rpc.MaxCompared, `"member-a0":1`)
	for text, want := range map[string]string{
		`x`:            `unexpected 'x'; expected a value at byte 1`,
		`[1 2]`:        `unexpected '2'; expected a comma or the end of the list of values at byte 4`,
		`["a\n`:        `the text ends inside a string at byte 6`,
		`["a\`:         `the text ends inside a string at byte 4`,
		`["a\u12"]`:    `a broken \u escape at byte 4`,
		`["\ud800"]`:   `half a surrogate pair at byte 3`,
		twice(key(3)):  `duplicate key "kkk" at byte 11`,
		twice(key(40)): `duplicate key "` + key(40) + `" at byte 48`,
		twice(key(41)): `duplicate key "` + key(40) + `..." at byte 49`,
		many:           `duplicate key "a" at byte ` + strconv.Itoa(len(many)+1),
		sorted:         `duplicate key "a" at byte ` + strconv.Itoa(len(sorted)+1),
		compared:       `duplicate key "member-a0" at byte ` + strconv.Itoa(strings.LastIndex(compared, "member-a0")+1),
		behind:         `duplicate key "member-a0" at byte ` + strconv.Itoa(len(behind)+1),
	} {
		if _, err := rpc.ParseValue([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.100s: %v\nwant %s", text, err, want)
		}
	}
}

// Of an outermost array that is too large rpc.MaxMembers more values are kept than of inner
// values.
func TestTruncatedArray(t *testing.T) {
	const limit = 10
	kept := limit + rpc.MaxMembers - 1 // and the array itself
	for n, truncated := range map[int]bool{limit - 1: false, limit: true, kept: true, kept + 1: true, kept + 100: true} {
		doc, err := rpc.ParseNodes([]byte("["+strings.TrimSuffix(strings.Repeat("0,", n), ",")+"]"), limit)
		if err != nil {
			t.Fatal(err)
		}
		if got := doc.Root().Len(); got != min(n, kept) || doc.Truncated() != truncated {
			t.Errorf("of %d elements %d are kept, truncated %v", n, got, doc.Truncated())
		}
	}
}
