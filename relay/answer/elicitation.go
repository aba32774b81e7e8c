package answer

import (
	"encoding/json"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// Elicitation returns the result of an MCP server's elicitation about running a tool. It
// declines unless the route consents (see Route), and if the form has no field for a
// consent.
func Elicitation(route Route, params rpc.Value, o Outcome) json.RawMessage {
	no := marshal(map[string]any{"action": "decline", "content": nil, "_meta": nil})
	if !hasForm(params) {
		return no
	}
	switch {
	case route == ToPlugin:
		if o.Approved() {
			o = ApprovedOnce // the host has consented, no person was asked
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
	content, ok := fillForm(params.Get("requestedSchema"), o, hints)
	if !ok {
		return no
	}
	var meta any
	if o == ApprovedSession && len(hints) > 0 {
		meta = map[string]string{"persist": hints[0]}
	}
	return marshal(map[string]any{"action": "accept", "content": content, "_meta": meta})
}

// persistHints returns how long a consent may last, the longest first.
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

// fillForm returns the content of a consent; nil for a form without fields. ok is false if
// no field is for a consent, or a required field can't be filled.
func fillForm(schema rpc.Value, o Outcome, hints []string) (content map[string]json.RawMessage, ok bool) {
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
			v = consentValue(name, f, o)
			approved = approved || v != nil
		case persistField:
			if o == ApprovedSession {
				v = durationValue(f, hints)
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

// kindOf returns the purpose of a field. Its name counts more than its description:
// "approve this call, for the session if you like" is a consent.
func kindOf(name string, f rpc.Value) fieldKind {
	about := text(f, "title") + " " + text(f, "description")
	switch {
	case hasWord(name, persistWords):
		return persistField
	case hasWord(name, approvalWords), hasWord(about, approvalWords):
		return approvalField
	case hasWord(about, persistWords):
		return persistField
	}
	return otherField
}

// hasWord reports whether a text has one of the words as a whole.
func hasWord(text string, any []string) bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < '0' || r > '9' && r < 'a' || r > 'z' && r < 0x80 })
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(any, w) })
}

// choice is an option of a field.
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

// consentValue returns the value of a field for a consent. A consent for once never selects
// an option that lasts, even if there is no other, nor a switch whose text refuses or
// lasts.
func consentValue(name string, f rpc.Value, o Outcome) []byte {
	if f.Get("type").Is("boolean") {
		if about := name + " " + text(f, "title"); hasWord(about, negativeWords) || o != ApprovedSession && hasWord(about, lastingWords) {
			return nil
		}
		return []byte("true")
	}
	var once, lasts []byte
	for _, c := range choices(f) {
		both := c.text + " " + c.label
		switch {
		case !hasWord(both, positiveWords) || hasWord(both, negativeWords):
		case hasWord(both, lastingWords):
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

// durationValue returns the option of a field for how long the consent lasts.
func durationValue(f rpc.Value, hints []string) []byte {
	for _, hint := range hints {
		for _, c := range choices(f) {
			if strings.EqualFold(c.text, hint) {
				return c.value
			}
		}
	}
	return nil
}
