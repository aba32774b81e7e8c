package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// caseTable is an object whose members are taken by name; members that remain are unknown.
type caseTable struct {
	members map[string]any
	known   []string // the names that were taken, also if the object has no such member
	err     error
}

func newCaseTable(members map[string]any) *caseTable { return &caseTable{members: members} }

func (t *caseTable) take(key string) (any, bool) {
	t.known = append(t.known, key)
	v, ok := t.members[key]
	delete(t.members, key)
	return v, ok
}

func (t *caseTable) fail(key, wants string) {
	if t.err == nil {
		t.err = fmt.Errorf("%s: %s", key, wants)
	}
}

func (t *caseTable) text(key string) *string {
	v, ok := t.take(key)
	if !ok {
		return nil
	}
	text, ok := v.(string)
	if !ok {
		t.fail(key, "write a text")
	}
	return &text
}

func (t *caseTable) plain(key string) string {
	if text := t.text(key); text != nil {
		return *text
	}
	return ""
}

func (t *caseTable) texts(key string) []string {
	v, ok := t.take(key)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		t.fail(key, "write a list of texts")
	}
	out := make([]string, len(list))
	for i := range list {
		if out[i], ok = list[i].(string); !ok {
			t.fail(key, "write a list of texts")
		}
	}
	return out
}

func (t *caseTable) number(key string) *int64 {
	v, ok := t.take(key)
	if !ok {
		return nil
	}
	switch v := v.(type) {
	case int64:
		return &v
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return &n
		}
	}
	t.fail(key, "write a whole number")
	return nil
}

func (t *caseTable) object(key string) map[string]any {
	v, ok := t.take(key)
	if !ok {
		return nil
	}
	members, ok := v.(map[string]any)
	if !ok {
		t.fail(key, "write a table")
	}
	return members
}

func (t *caseTable) tables(key string) []map[string]any {
	v, ok := t.take(key)
	if !ok {
		return nil
	}
	elements, ok := v.([]any)
	list := make([]map[string]any, len(elements))
	for i, one := range elements {
		if list[i], ok = one.(map[string]any); !ok {
			break
		}
	}
	if !ok {
		t.fail(key, "write [["+key+"]]")
	}
	return list
}

// finish returns the first error. Unknown keys come first: one of them may be a missing one, mistyped.
func (t *caseTable) finish() error {
	if len(t.members) == 0 {
		return t.err
	}
	names := slices.Sorted(maps.Keys(t.members))
	hint := "see docs/reference/cli.md"
	if near := config.Nearest(names[0], t.known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return fmt.Errorf("unknown key %s; %s", strings.Join(names, ", "), hint)
}

// parseCase parses one case.
func parseCase(members map[string]any) (c Case, err error) {
	t := newCaseTable(members)
	c.Name, c.Workspace, c.Policy = t.plain("name"), t.plain("workspace"), t.text("policy")
	c.Args, c.Command = t.texts("args"), t.text("command")
	if message, ok := t.take("message"); ok {
		if c.Message, err = rawMessage(message); err != nil {
			return c, err
		}
	}
	if asked, ok := t.take("asked"); ok {
		if c.Asked, err = rawMessage(asked); err != nil {
			return c, fmt.Errorf("asked: %w", err)
		}
	}
	switch from := t.text("from"); {
	case from == nil || *from == "client":
	case *from == "codex":
		c.Server = true
	default:
		t.fail("from", `write "client" or "codex"`)
	}
	if thread := t.object("thread"); thread != nil {
		inner := newCaseTable(thread)
		c.Thread = &CaseThread{inner.plain("id"), inner.plain("workspace"), inner.plain("sandbox")}
		if c.Thread.ID == "" {
			inner.fail("id", "missing")
		}
		if err := inner.finish(); err != nil {
			return c, fmt.Errorf("thread: %w", err)
		}
	}
	if values := t.object("codex_config"); values != nil {
		if c.Config, err = json.Marshal(values); err != nil {
			return c, fmt.Errorf("codex_config: %w", err)
		}
	}
	c.Models = t.texts("codex_models")
	c.Want = CaseWant{
		Fields: t.object("fields"), Error: t.number("error"), Rule: t.plain("rule"),
		Args: t.texts("codex_args"), Flags: t.texts("taken_out"),
	}
	c.Want.Gets, _ = t.take("codex_gets")
	known, wants := []policy.Verdict{policy.Pass, policy.Rewrite, policy.Deny}, `write "pass", "rewrite" or "deny"`
	if c.Command != nil {
		known, wants = []policy.Verdict{CaseAllow, CaseAsk, policy.Deny}, `write "allow", "ask" or "deny"`
	}
	if c.Want.Verdict = policy.Verdict(t.plain("expect")); !slices.Contains(known, c.Want.Verdict) {
		t.fail("expect", wants)
	}
	return c, errors.Join(t.finish(), c.check())
}

// rawMessage returns a message as the line of the client. A string is used unchanged, so that a
// case can have an invalid message.
func rawMessage(v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return []byte(strings.TrimSpace(v)), nil
	case map[string]any:
		return json.Marshal(v)
	}
	return nil, errors.New("message: write the JSON as a text, or as a table")
}

// check returns an error for members that contradict each other.
func (c *Case) check() error {
	var words []string
	w := c.Want
	ofMessage := map[string]bool{
		"from": c.Server, "asked": c.Asked != nil, "thread": c.Thread != nil, "codex_config": c.Config != nil, "codex_models": c.Models != nil, "fields": w.Fields != nil,
		"error": w.Error != nil, "codex_gets": w.Gets != nil,
	}
	ofArgs := map[string]bool{"codex_args": w.Args != nil, "taken_out": w.Flags != nil}
	switch subjects := len(unexpectedMembers(map[string]bool{"message": c.Message != nil, "args": c.Args != nil, "command": c.Command != nil})); {
	case subjects != 1:
		return errors.New("a case has a message, args or a command, and only one of them")
	case c.Message != nil:
		words = unexpectedMembers(ofArgs)
	case c.Args != nil:
		ofMessage["workspace"] = c.Workspace != ""
		words = unexpectedMembers(ofMessage)
	default:
		maps.Copy(ofMessage, ofArgs)
		words = unexpectedMembers(ofMessage)
	}
	switch {
	case c.Name == "":
		return errors.New("a case has a name")
	case len(words) > 0:
		return fmt.Errorf("%s: not for this kind of case", strings.Join(words, ", "))
	case w.Verdict != policy.Deny && w.Error != nil:
		return errors.New("error: only a denied message has an error")
	case w.Verdict == policy.Deny && (w.Fields != nil || w.Gets != nil || w.Args != nil || w.Flags != nil):
		return errors.New("a denied message has no fields, codex_gets, codex_args or taken_out")
	}
	return nil
}

func unexpectedMembers(there map[string]bool) []string {
	maps.DeleteFunc(there, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(there))
}
