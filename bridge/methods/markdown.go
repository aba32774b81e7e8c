package methods

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// classOrder is the order in which classes are shown.
var classOrder = []Class{
	Thread, Turn, ModelWork, Execute, FileWrite, FileRead, Configuration, Extension, Account, Remote, State, Read,
}

// Classes returns all classes, in the order in which they are shown.
func Classes() []Class { return append([]Class(nil), classOrder...) }

const methodsIntro = `# Methods

Every method in the protocol of the supported releases of Codex, up to %s, and what the bridge does with it under ` + "`mode = \"enforce\"`" + `. To print the table for your
configuration, with a reason for each method, run ` + "`codex-bridge methods`" + `. ` + "`make schema`" + ` writes this page from the table in the program.

verdict | the bridge
---|---
pass | forwards the message, without fields that Codex's schema lacks
rewrite | checks fields against the [policy](policy.md); replaces or removes a forbidden value, or refuses the message
gate | does the same, and only for a [verified](policy.md#verification) thread
deny | refuses the message with error -32010

To change a verdict, use [` + "`[policy.methods]`" + `](policy.md#policymethods). The bridge refuses a request that is not on this
page, and drops such a notification of the client, unless ` + "`policy.unknown_methods = \"allow\"`" + `.
`

// Markdown returns docs/reference/methods.md. Methods with a verdict of deny have their
// reason, rewrite and gate the fields that decide, and pass the name alone.
func Markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, methodsIntro, Measured)
	b.WriteString("\n## Refused requests\n")
	for _, class := range classOrder {
		rows := rowsOf(ClientRequest, class, Deny)
		if rows != nil {
			fmt.Fprintf(&b, "\n%s:\n\n", strings.ToUpper(string(class[:1]))+string(class[1:]))
		}
		for _, row := range rows {
			fmt.Fprintf(&b, "- `%s`: %s\n", row.Method, row.Why)
		}
	}
	b.WriteString("\n## Checked requests\n\nFor each gated method the bridge also checks `threadId`.\n\nmethods | class | verdict | fields\n---|---|---|---\n")
	writeChecked(&b)
	b.WriteString("\n## Forwarded requests\n\n")
	writeNames(&b, ClientRequest)
	b.WriteString("\n## Client notifications\n\n")
	writeNames(&b, ClientNotification)
	b.WriteString("\n## Server requests\n\nThe bridge checks these fields of the client's response.\n\nmethod | class | fields | question\n---|---|---|---\n")
	for _, class := range classOrder {
		for _, row := range rowsOf(ServerRequest, class, Rewrite, Pass) {
			fields := row.fields()
			if row.Verdict == Pass {
				fields = "none"
			}
			fmt.Fprintf(&b, "`%s` | %s | %s | %s\n", row.Method, class, fields, row.Why)
		}
	}
	b.WriteString("\n## Server notifications\n\nThe bridge forwards all of them. It compares `thread/settings/updated` with the policy: a thread whose settings the policy does not\n" +
		"allow runs no turn. `[policy.methods]` does not apply to them.\n\n")
	writeNames(&b, ServerNotification)
	b.WriteString("\n## Hook events\n\nThe bridge installs the [hooks](protocol.md#hooks) that decide or observe, and leaves the others to you.\n\nevent | bridge | about\n---|---|---\n")
	for _, e := range HookEvents() {
		relayed := string(e.Relayed)
		if e.Relayed == NotRelayed {
			relayed = "does not install it"
		}
		fmt.Fprintf(&b, "`%s` | %s | %s\n", e.Event, relayed, e.Why)
	}
	return b.Bytes()
}

// rowsOf returns the rows of a side and a class with one of the verdicts, verdict by verdict.
func rowsOf(side Side, class Class, verdicts ...Verdict) (rows []Row) {
	for _, verdict := range verdicts {
		for _, row := range allRows().rows {
			if row.Side == side && row.Class == class && row.Verdict == verdict {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// writeChecked writes the client requests whose fields decide. Methods of a class with the
// same verdict and fields share a line.
func writeChecked(b *bytes.Buffer) {
	for _, class := range classOrder {
		var order []string
		names := make(map[string][]string)
		for _, row := range rowsOf(ClientRequest, class, Rewrite, Gate) {
			fields := row.fields()
			if fields == "" {
				fields = "`threadId`"
			}
			rest := fmt.Sprintf("%s | %s | %s", class, row.Verdict, fields)
			if names[rest] == nil {
				order = append(order, rest)
			}
			names[rest] = append(names[rest], "`"+row.Method+"`")
		}
		for _, rest := range order {
			fmt.Fprintf(b, "%s | %s\n", strings.Join(names[rest], ", "), rest)
		}
	}
}

// writeNames writes the methods of a side that pass, in list items for each class.
func writeNames(b *bytes.Buffer, side Side) {
	const most = 24 // names in an item
	for _, class := range classOrder {
		for rows := range slices.Chunk(rowsOf(side, class, Pass), most) {
			names := make([]string, len(rows))
			for i, row := range rows {
				names[i] = "`" + row.Method + "`"
			}
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
