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

// Classes returns all classes, in the order in which they are shown.
func Classes() []Class { return append([]Class(nil), classOrder...) }

const methodsIntro = `# Methods

Every method in the protocol of Codex %s, and what the bridge does with it under ` + "`mode = \"enforce\"`" + `. To print the table for your
configuration, with a reason for each method, run ` + "`codex-bridge methods`" + `. ` + "`make schema`" + ` writes this page from the table in the program.

| verdict | the bridge |
|---|---|
| pass | forwards the message unchanged |
| rewrite | checks fields against the [policy](policy.md); replaces or removes a forbidden value, or refuses the message |
| gate | does the same, and only for a [verified](policy.md#verification) thread |
| deny | refuses the message with error -32010 |

To change a verdict, use [` + "`[policy.methods]`" + `](policy.md#policymethods). The bridge refuses a request that is not on this
page, and drops such a notification of the client, unless ` + "`policy.unknown_methods = \"allow\"`" + `.
`

// Markdown returns docs/reference/methods.md. Methods with a verdict of deny have their
// reason, rewrite and gate the fields that decide, and pass the name alone.
func Markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, methodsIntro, Measured)
	b.WriteString("\n## Refused requests\n\n| method | class | reason |\n|---|---|---|\n")
	writeRows(&b, ClientRequest, []Verdict{Deny}, func(r Row) string { return r.Why })
	b.WriteString("\n## Checked requests\n\nThe bridge also checks `threadId` of each gated method.\n\n| method | class | verdict | fields |\n|---|---|---|---|\n")
	writeRows(&b, ClientRequest, []Verdict{Rewrite, Gate}, func(r Row) string { return string(r.Verdict) + " | " + r.fields() })
	b.WriteString("\n## Forwarded requests\n\n")
	writeNames(&b, ClientRequest)
	b.WriteString("\n## Client notifications\n\n")
	writeNames(&b, ClientNotification)
	b.WriteString("\n## Server requests\n\nThe verdict and the fields are those of the client's response.\n\n| method | class | verdict | fields | question |\n|---|---|---|---|---|\n")
	writeRows(&b, ServerRequest, []Verdict{Rewrite, Pass}, func(r Row) string {
		return string(r.Verdict) + " | " + r.fields() + " | " + r.Why
	})
	b.WriteString("\n## Server notifications\n\nThe bridge forwards all of them. It compares `thread/settings/updated` with the policy: a thread whose settings the policy does not\n" +
		"allow runs no turn. `[policy.methods]` does not apply to them.\n\n")
	writeNames(&b, ServerNotification)
	return b.Bytes()
}

// writeRows writes the rows of a side with one of the verdicts, class by class. cells
// returns the cells behind method and class.
func writeRows(b *bytes.Buffer, side Side, verdicts []Verdict, cells func(Row) string) {
	for _, class := range classOrder {
		for _, verdict := range verdicts {
			for _, row := range all {
				if row.Side == side && row.Class == class && row.Verdict == verdict {
					fmt.Fprintf(b, "| `%s` | %s | %s |\n", row.Method, class, cells(row))
				}
			}
		}
	}
}

// writeNames writes the methods of a side that pass, a list item for each class.
func writeNames(b *bytes.Buffer, side Side) {
	for _, class := range classOrder {
		var names []string
		for _, row := range all {
			if row.Side == side && row.Class == class && row.Verdict == Pass {
				names = append(names, "`"+row.Method+"`")
			}
		}
		if names != nil {
			fmt.Fprintf(b, "- %s: %s\n", class, strings.Join(names, ", "))
		}
	}
}

// fields returns the fields that decide, without the threadId that each gated method has.
func (r Row) fields() string {
	var fields []string
	for _, field := range r.Fields {
		if r.Verdict != Gate || field != "threadId" {
			fields = append(fields, "`"+field+"`")
		}
	}
	return strings.Join(fields, ", ")
}
