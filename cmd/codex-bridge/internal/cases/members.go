package cases

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"codex-bridge/bridge/policy"
)

// table takes the members out of an object by their names; what is left in the
// end is unknown.
type table struct {
	members map[string]any
	err     error
}

func (t *table) take(key string) (any, bool) {
	v, ok := t.members[key]
	delete(t.members, key)
	return v, ok
}

func (t *table) fail(key, wants string) {
	if t.err == nil {
		t.err = fmt.Errorf("%s: %s", key, wants)
	}
}

func (t *table) text(key string) *string {
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

func (t *table) plain(key string) string {
	if text := t.text(key); text != nil {
		return *text
	}
	return ""
}

func (t *table) texts(key string) []string {
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

func (t *table) number(key string) *int64 {
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

func (t *table) object(key string) map[string]any {
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

func (t *table) tables(key string) []map[string]any {
	v, ok := t.take(key)
	if !ok {
		return nil
	}
	list, ok := v.([]map[string]any)
	if !ok {
		t.fail(key, "write [["+key+"]]")
	}
	return list
}

// done is the first thing that was wrong, an unknown key last.
func (t *table) done() error {
	if t.err != nil {
		return t.err
	}
	if len(t.members) > 0 {
		return fmt.Errorf("unknown key %s; see docs/reference/cli.md", strings.Join(slices.Sorted(maps.Keys(t.members)), ", "))
	}
	return nil
}

// caseOf reads one case.
func caseOf(members map[string]any) (c Case, err error) {
	t := &table{members, nil}
	c.Name, c.Workspace, c.Policy = t.plain("name"), t.plain("workspace"), t.text("policy")
	c.Args = t.texts("args")
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
		inner := &table{thread, nil}
		c.Thread = &Thread{inner.plain("id"), inner.plain("workspace"), inner.plain("sandbox")}
		if c.Thread.ID == "" {
			inner.fail("id", "missing")
		}
		if err := inner.done(); err != nil {
			return c, fmt.Errorf("thread: %w", err)
		}
	}
	if config := t.object("codex_config"); config != nil {
		if c.Config, err = json.Marshal(config); err != nil {
			return c, fmt.Errorf("codex_config: %w", err)
		}
	}
	c.Want = Want{
		Fields: t.object("fields"), Error: t.number("error"), Rule: t.plain("rule"),
		Args: t.texts("codex_args"), Flags: t.texts("taken_out"),
	}
	c.Want.Gets, _ = t.take("codex_gets")
	switch verdict := t.plain("expect"); policy.Verdict(verdict) {
	case policy.Pass, policy.Rewrite, policy.Deny:
		c.Want.Verdict = policy.Verdict(verdict)
	default:
		t.fail("expect", `write "pass", "rewrite" or "deny"`)
	}
	return c, errors.Join(t.done(), c.check())
}

// rawMessage is a message as the client's line: a text is taken as it is, so that
// a case can hold what is no message.
func rawMessage(v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return []byte(strings.TrimSpace(v)), nil
	case map[string]any:
		return json.Marshal(v)
	}
	return nil, errors.New("message: write the JSON as a text, or as a table")
}

// check refuses what does not belong together.
func (c *Case) check() error {
	var words []string
	w := c.Want
	if c.Args != nil {
		if c.Message != nil {
			return errors.New("a case has either a message or args")
		}
		words = foreign(map[string]bool{
			"from": c.Server, "asked": c.Asked != nil, "thread": c.Thread != nil, "codex_config": c.Config != nil, "fields": w.Fields != nil,
			"error": w.Error != nil, "codex_gets": w.Gets != nil, "workspace": c.Workspace != "",
		})
	} else {
		if c.Message == nil {
			return errors.New("a case has a message, or args")
		}
		words = foreign(map[string]bool{"codex_args": w.Args != nil, "taken_out": w.Flags != nil})
	}
	switch {
	case c.Name == "":
		return errors.New("a case has a name")
	case len(words) > 0:
		return fmt.Errorf("%s: not for this kind of case", strings.Join(words, ", "))
	case w.Verdict != policy.Deny && w.Error != nil:
		return errors.New("error: only what is denied has one")
	case w.Verdict == policy.Deny && (w.Fields != nil || w.Gets != nil || w.Args != nil || w.Flags != nil):
		return errors.New("what is denied reaches nobody: there are no fields, codex_gets, codex_args or taken_out")
	}
	return nil
}

func foreign(there map[string]bool) []string {
	maps.DeleteFunc(there, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(there))
}
