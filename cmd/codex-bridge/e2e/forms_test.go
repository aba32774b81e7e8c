//go:build linux

package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest/forms"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/rpc"
)

// formMethods have no effect without a thread or with an empty list. A policy without verified
// threads allows those of the first group.
var (
	formMethodsPassing = []string{"thread/list", "thread/name/set", "model/list", "config/read", "thread/turns/list", "thread/items/list", "hooks/list", "skills/list"}
	formMethodsGated   = []string{"turn/start", "turn/steer", "thread/settings/update", "thread/goal/set", "thread/queue/add", "review/start", "turn/settings/update"}
)

// formCase is one form and its request.
type formCase struct {
	forms.Form
	id   string
	line []byte
}

// formCases returns forms of some methods: all, or a sample.
func formCases(names []string, every int) (all []formCase) {
	if os.Getenv(wideEnv) != "" {
		every = 1
	}
	table, i := methods.Shapes(), 0
	for _, method := range names {
		for _, f := range forms.Of(table, table.Requests[method]) {
			if i++; i%every != 0 && f.Kind != "array for struct" {
				continue
			}
			id := fmt.Sprint("form-", i)
			// The id of a thread that does not exist.
			value := strings.ReplaceAll(f.Value, `"threadId":"T"`, `"threadId":"00000000-0000-7000-8000-000000000000"`)
			f.Value = value
			all = append(all, formCase{f, id, []byte(`{"id":"` + id + `","method":"` + method + `","params":` + value + `}`)})
		}
	}
	return all
}

// sendForms sends all forms and returns the responses. Codex ignores some, so a last request marks
// the end.
func (c *conversation) sendForms(cases []formCase) map[string]editor.Message {
	c.t.Helper()
	mark := c.Mark()
	for i, f := range cases {
		if err := c.Send(f.line); err != nil {
			c.t.Fatal(err)
		}
		if i%100 == 99 {
			c.must("model/list", map[string]any{})
		}
	}
	c.must("model/list", map[string]any{})
	answers := make(map[string]editor.Message)
	for _, m := range c.Messages()[mark:] {
		if !m.Sent && m.IsAnswer() {
			answers[strings.Trim(string(m.ID), `"`)] = m
		}
	}
	return answers
}

// Codex accepts the forms: it reads some of each known kind like plain ones.
func TestOtherFormsControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	c := w.open(codexPath, "app-server")
	c.initialize(nil)
	cases := formCases(slices.Concat(formMethodsPassing, formMethodsGated), 4)
	answers := c.sendForms(cases)
	taken := make(map[string]int)
	for _, f := range cases {
		m, ok := answers[f.id]
		if ok && (m.Error == nil || !strings.HasPrefix(m.Error.Message, "Invalid request: ")) {
			taken[f.Kind]++
		}
	}
	t.Logf("of %d forms Codex accepts %v", len(cases), taken)
	for _, kind := range []string{"array for struct", "map for enum", "array for tagged", "private key", "name twice"} {
		if taken[kind] == 0 {
			t.Errorf("Codex accepts no %s: the test shows nothing", kind)
		}
	}
}

// No other form reaches Codex.
func TestOtherFormsRefused(t *testing.T) {
	t.Parallel()
	o, dir := withTee(t, options{config: "[policy]\nmode = \"enforce\"\n"})
	w := newWorld(t, o)
	c := w.open(proxyArgv...)
	c.initialize(nil)
	cases := formCases(formMethodsPassing, 4)
	c.sendForms(cases)
	byID := make(map[string]formCase)
	for _, f := range cases {
		byID[f.id] = f
		// The bridge responds to each; a request that waits for its thread comes last.
		if _, err := c.Wait(c.ctx, 0, func(m editor.Message) bool { return !m.Sent && m.IsAnswer() && string(m.ID) == `"`+f.id+`"` }); err != nil {
			t.Fatalf("%s has no response: %v", f.line, err)
		}
	}
	c.closeAndWait()
	for _, line := range recordedLines(t, dir, "in") {
		f, ok := byID[editor.Member(line, "id")]
		if !ok {
			continue
		}
		doc, err := rpc.ParseValue(bytes.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		got := doc.Root().Get("params")
		for _, name := range f.Path {
			got = step(got, name)
		}
		if f.Text == "" || got.Exists() && string(got.Raw()) == f.Text {
			t.Errorf("%s at %q reached Codex: %s", f.Kind, f.Path, line)
		}
	}
}

// step returns a member or an element.
func step(v rpc.Value, name string) rpc.Value {
	if v.Kind() != rpc.Array {
		return v.Get(name)
	}
	i := 0
	for element := range v.Elements() {
		if strconv.Itoa(i) == name {
			return element
		}
		i++
	}
	return rpc.Value{}
}
