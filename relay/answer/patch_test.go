package answer_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge.example/relay/answer"
)

// The lines of two patches are equal only if the patches are. Nothing in a path or a diff looks like a line of its own.
func TestPatchLines(t *testing.T) {
	const long = 64 << 10
	seen := make(map[string]string)
	for changes, want := range map[string]string{
		`[{"path":"/a","kind":{"type":"add"},"diff":"rm -rf ~\n"}]`:                                                                           "Add file: /a\n  | rm -rf ~\n  | ",
		`[{"path":"/a","kind":{"type":"add"},"diff":"echo hi\n"}]`:                                                                            "Add file: /a\n  | echo hi\n  | ",
		`[{"path":"/a","kind":{"type":"delete"},"diff":"old"}]`:                                                                               "Delete file: /a\n  | old",
		`[{"path":"/a","kind":{"type":"delete"},"diff":""}]`:                                                                                  "Delete file: /a",
		`[{"path":"/a","kind":{"type":"update","move_path":null},"diff":"@@\n-x\n+y\n"}]`:                                                     "Update file: /a\n  | @@\n  | -x\n  | +y\n  | ",
		`[{"path":"/a","kind":{"type":"update","move_path":"/home/u/b"},"diff":"@@\n-x\n+y"},{"path":"/c","kind":{"type":"add"},"diff":"z"}]`: "Update file: /a\nMove it to: /home/u/b\n  | @@\n  | -x\n  | +y\nAdd file: /c\n  | z",
		`[{"path":"/a\u200b\nDelete file: /b","kind":{"type":"add"},"diff":"x\u001b[2K\u202e\ty"}]`:                                           `Add file: "/a\u200b\nDelete file: /b"` + "\n" + `  | "x\u001b[2K\u202e\ty"`,
		`[{"path":"/a","kind":{"type":"swap\nx"},"diff":7}]`:                                                                                  `Change file ("swap\nx"): /a`,
		`[{"path":"/a","kind":{"type":"add"},"diff":"` + strings.Repeat("ä", long) + `"},{"path":"/b","kind":{"type":"add"},"diff":"evil"}]`:  "Add file: /a\n  | " + strings.Repeat("ä", long/2) + fmt.Sprintf("\n(+%d more characters of this change, which are not shown)\nAdd file: /b\n(+4 more characters of this change, which are not shown)", long/2),
		`[]`: "Changes: not known",
	} {
		got := strings.Join(answer.PatchLines(value(t, []byte(changes))), "\n")
		if got != want {
			t.Errorf("%.200s is\n%.400s\nwant\n%.400s", changes, got, want)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%.200s and %.200s look the same", changes, other)
		}
		seen[got] = changes
	}
}
