package answer

import (
	"encoding/json"
	"slices"
	"strings"

	"codex-bridge/rpc"
)

// Elicitation is the result that answers a server's question whether a tool may run.
// What is not routed to a consent (see Route) is declined, and so is a consent
// for which the question's form has no place.
func Elicitation(route Route, params rpc.Value, o Outcome) json.RawMessage {
	no := marshal(map[string]any{"action": "decline", "content": nil, "_meta": nil})
	if !hasForm(params) {
		return no
	}
	switch {
	case route == ToPlugin:
		if o.Approved() {
			o = ApprovedOnce // nobody was asked
		}
	case route != ToPerson:
		return no
	}
	if o == Cancelled {
		return marshal(map[string]any{"action": "cancel", "content": nil, "_meta": nil})
	}
	if !o.Approved() {
		return no
	}
	hints := persistHints(params)
	content, ok := fill(params.Get("requestedSchema"), o, hints)
	if !ok {
		return no
	}
	var meta any
	if o == ApprovedSession && len(hints) > 0 {
		meta = map[string]string{"persist": hints[0]}
	}
	return marshal(map[string]any{"action": "accept", "content": content, "_meta": meta})
}

// persistHints are the ways in which the consent may last, the longest first.
func persistHints(params rpc.Value) []string {
	offered := params.Get("_meta").Get("persist")
	if !offered.Exists() {
		return []string{"always", "session"}
	}
	var out []string
	for _, name := range [...]string{"always", "session"} {
		has := offered.Is(name)
		for e := range offered.Elements() {
			has = has || e.Is(name)
		}
		if has {
			out = append(out, name)
		}
	}
	return out
}

// fill is the content that says yes; nil for a form without fields. It is not ok
// where the form has no field for a yes, or requires one that nobody has filled.
func fill(schema rpc.Value, o Outcome, hints []string) (content map[string]json.RawMessage, ok bool) {
	fields := schema.Get("properties")
	if fields.Len() == 0 {
		return nil, schema.Get("required").Len() == 0
	}
	content = make(map[string]json.RawMessage)
	approved := false
	for name, f := range fields.Members() {
		var v []byte
		switch kindOf(name, f) {
		case approvalField:
			v = consent(name, f, o)
			approved = approved || v != nil
		case persistField:
			if o == ApprovedSession {
				v = lasting(f, hints)
			}
		default:
			v = f.Get("default").Raw()
		}
		if v != nil {
			content[name] = v
		}
	}
	for e := range schema.Get("required").Elements() {
		name, _ := e.Text()
		if _, has := content[name]; !has {
			return nil, false
		}
	}
	return content, approved
}

type fieldKind int

const (
	otherField fieldKind = iota
	approvalField
	persistField
)

var (
	approvalWords = []string{"approve", "approval", "allow", "accept", "decision"}
	positiveWords = []string{"approve", "approved", "allow", "allowed", "accept", "accepted", "yes"}
	negativeWords = []string{"not", "don", "dont", "never", "no", "deny", "denied", "decline", "reject", "cancel", "disallow"}
	persistWords  = []string{"persist", "session", "always", "scope"}
	lastingWords  = []string{"session", "always", "forever", "permanently", "persist", "remember"}
)

// kindOf reads what a field is for. Its name weighs more than what is written about
// it: "approve this call, for the session if you like" is a consent.
func kindOf(name string, f rpc.Value) fieldKind {
	about := text(f, "title") + " " + text(f, "description")
	switch {
	case says(name, persistWords):
		return persistField
	case says(name, approvalWords), says(about, approvalWords):
		return approvalField
	case says(about, persistWords):
		return persistField
	}
	return otherField
}

// says tells whether a text has one of the words, whole.
func says(text string, any []string) bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < '0' || r > '9' && r < 'a' || r > 'z' && r < 0x80 })
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(any, w) })
}

// choice is one of a field's options.
type choice struct {
	value       []byte
	text, label string
}

func choices(f rpc.Value) (out []choice) {
	var names []string
	for e := range f.Get("enumNames").Elements() {
		name, _ := e.Text()
		names = append(names, name)
	}
	for e := range f.Get("enum").Elements() {
		c := choice{value: e.Raw()}
		c.text, _ = e.Text()
		if len(out) < len(names) {
			c.label = names[len(out)]
		}
		out = append(out, c)
	}
	for _, list := range [...]string{"oneOf", "anyOf"} {
		for e := range f.Get(list).Elements() {
			if v := e.Get("const"); v.Exists() {
				word, _ := v.Text()
				out = append(out, choice{v.Raw(), word, text(e, "title")})
			}
		}
	}
	return out
}

// consent is the value of a field that says yes. A consent for once never takes an
// option that lasts, though it be the only yes.
// Nor is a switch set that says no, or that says it lasts.
func consent(name string, f rpc.Value, o Outcome) []byte {
	if f.Get("type").Is("boolean") {
		if about := name + " " + text(f, "title"); says(about, negativeWords) || o != ApprovedSession && says(about, lastingWords) {
			return nil
		}
		return []byte("true")
	}
	var once, lasts []byte
	for _, c := range choices(f) {
		both := c.text + " " + c.label
		switch {
		case !says(both, positiveWords) || says(both, negativeWords):
		case says(both, lastingWords):
			lasts = first(lasts, c.value)
		default:
			once = first(once, c.value)
		}
	}
	if o == ApprovedSession {
		return first(lasts, once)
	}
	return once
}

func first(a, b []byte) []byte {
	if a != nil {
		return a
	}
	return b
}

// lasting is the option of a field that says for how long.
func lasting(f rpc.Value, hints []string) []byte {
	for _, hint := range hints {
		for _, c := range choices(f) {
			if strings.EqualFold(c.text, hint) {
				return c.value
			}
		}
	}
	return nil
}
