package methods

import (
	"bytes"
	"fmt"
	"strings"
)

// classOrder is the order in which classes are shown.
var classOrder = []Class{
	Thread, Turn, ModelWork, Execute, FileWrite, FileRead, Configuration, Extension, Account, Remote, State, Read,
}

// Classes are all classes, in the order in which they are shown.
func Classes() []Class { return append([]Class(nil), classOrder...) }

// Markdown is docs/methods.md: all rows, for people.
func Markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# The method table

Every name in the protocol of codex %s, and what becomes of it when [policy](policy.md) enforces. `+"`make schema`"+` writes this page
from the table that the program uses, and a test holds that table against the schema that codex prints.

| verdict | |
|---|---|
| pass | reaches the other side as it came |
| rewrite | the fields are held to the policy; what is forbidden is replaced, taken out, or refused |
| gate | the same, and only on a thread that was verified |
| deny | refused with error -32010 |

`+"`[policy.methods]`"+` overrides the verdict of what a client sends: `+"`\"deny\"`"+` refuses any method, `+"`\"allow\"`"+` lifts a deny, `+"`\"ask\"`"+` asks a
person; and of what codex
asks: `+"`\"deny\"`"+` says no in the client's place, `+"`\"ask\"`"+` leaves no rule a consent. What is
judged by its fields stays judged. `+"`codex-bridge methods`"+` prints the table under the configuration at hand. What has no row
follows `+"`policy.unknown_methods`"+`.

For a server request the verdict and the fields are about the client's answer.
`, Measured)
	for _, side := range Sides() {
		heading := false
		for _, class := range classOrder {
			var lines []string
			for _, row := range all {
				if row.Side == side && row.Class == class {
					lines = append(lines, row.markdown())
				}
			}
			if lines == nil {
				continue
			}
			if !heading {
				fmt.Fprintf(&b, "\n## %ss\n", strings.ToUpper(side.String()[:1])+side.String()[1:])
				heading = true
			}
			fmt.Fprintf(&b, "\n### %s\n\n| method | verdict | fields | why |\n|---|---|---|---|\n%s\n", class, strings.Join(lines, "\n"))
		}
	}
	return b.Bytes()
}

func (r Row) markdown() string {
	var fields []string
	for _, field := range r.Fields {
		fields = append(fields, "`"+field+"`")
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |", r.Method, r.Verdict, strings.Join(fields, ", "), r.Why)
}
