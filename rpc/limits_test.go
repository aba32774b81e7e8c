package rpc_test

import (
	"strconv"
	"strings"
	"testing"

	"codex-bridge/rpc"
)

// What a refusal says where the fault is: the byte, counted from 1, and the key, cut off behind 40 bytes.
func TestErrorsNameTheOffset(t *testing.T) {
	key := func(n int) string { return strings.Repeat("k", n) }
	twice := func(name string) string { return `{"` + name + `":1,"` + name + `":2}` }
	many := object(rpc.FewMembers-1, `"a":1`, `"a":2`)
	sorted := object(rpc.FewMembers, `"a":1`, `"a":2`)
	// The last of the members that are compared one by one, and the first that are not, are
	// the same as one before.
	compared, behind := object(rpc.FewMembers-1, `"member-a0":1`), object(rpc.FewMembers, `"member-a0":1`)
	for text, want := range map[string]string{
		`x`:            `'x' where a value should stand at byte 1`,
		`[1 2]`:        `'2' where a comma or the end of the list of values should stand at byte 4`,
		`["a\n`:        `the text ends inside a string at byte 6`,
		`["a\`:         `the text ends inside a string at byte 4`,
		`["a\u12"]`:    `a broken \u escape at byte 4`,
		`["\ud800"]`:   `half a surrogate pair at byte 3`,
		twice(key(3)):  `the key "kkk" twice in one object at byte 11`,
		twice(key(40)): `the key "` + key(40) + `" twice in one object at byte 48`,
		twice(key(41)): `the key "` + key(40) + `..." twice in one object at byte 49`,
		many:           `the key "a" twice in one object at byte ` + strconv.Itoa(len(many)+1),
		sorted:         `the key "a" twice in one object at byte ` + strconv.Itoa(len(sorted)+1),
		compared:       `the key "member-a0" twice in one object at byte ` + strconv.Itoa(strings.LastIndex(compared, "member-a0")+1),
		behind:         `the key "member-a0" twice in one object at byte ` + strconv.Itoa(len(behind)+1),
	} {
		if _, err := rpc.ParseValue([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.100s: %v\nwant %s", text, err, want)
		}
	}
}

// Of an outermost array that is too large the first values are kept, rpc.MaxMembers more than of
// what is deeper.
func TestTruncatedArray(t *testing.T) {
	const most = 10
	kept := most + rpc.MaxMembers - 1 // and the array itself
	for n, truncated := range map[int]bool{most - 1: false, most: true, kept: true, kept + 1: true, kept + 100: true} {
		doc, err := rpc.ParseNodes([]byte("["+strings.TrimSuffix(strings.Repeat("0,", n), ",")+"]"), most)
		if err != nil {
			t.Fatal(err)
		}
		if got := doc.Root().Len(); got != min(n, kept) || doc.Truncated() != truncated {
			t.Errorf("of %d elements %d are kept, truncated %v", n, got, doc.Truncated())
		}
	}
}
