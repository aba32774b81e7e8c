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

	"codex-bridge/bridge/bridgetest/forms"
	"codex-bridge/bridge/shape"
	"codex-bridge/cmd/internal/editor"
	"codex-bridge/rpc"
)

// formMethods have no effect without a thread or with an empty list. Those of the first
// group pass a policy that has verified no thread.
var (
	formMethodsPassing = []string{"thread/list", "thread/name/set", "model/list", "config/read", "thread/turns/list", "thread/items/list", "hooks/list", "skills/list"}
	formMethodsGated   = []string{"turn/start", "turn/steer", "thread/settings/update", "thread/goal/set", "thread/queue/add", "review/start", "turn/settings/update"}
)

// formCase is one form, and the request that it is in.
type formCase struct {
	forms.Form
	id   string
	line []byte
}

// formCases are the forms of some methods: a sample of them, unless the test is wide.
func formCases(methods []string, every int) (all []formCase) {
	if os.Getenv(wideEnv) != "" {
		every = 1
	}
	table, i := shape.Codex(), 0
	for _, method := range methods {
		for _, f := range forms.Of(table, table.Requests[method]) {
			if i++; i%every != 0 && f.Kind != "array for struct" {
				continue
			}
			id := fmt.Sprint("form-", i)
			// The id of a thread that there is not.
			value := strings.ReplaceAll(f.Value, `"threadId":"T"`, `"threadId":"00000000-0000-7000-8000-000000000000"`)
			f.Value = value
			all = append(all, formCase{f, id, []byte(`{"id":"` + id + `","method":"` + method + `","params":` + value + `}`)})
		}
	}
	return all
}

// replies sends all forms and returns what each is answered. Codex drops some without
// a reply, so that a last request tells that all have been read.
func (c *conversation) replies(cases []formCase) map[string]editor.Message {
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

// The forms are forms that Codex takes: of each kind that is known to work, some are read
// as if they were plain.
func TestOtherFormsControl(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	c := w.open(codexPath, "app-server")
	c.initialize(nil)
	cases := formCases(slices.Concat(formMethodsPassing, formMethodsGated), 4)
	answers := c.replies(cases)
	taken := make(map[string]int)
	for _, f := range cases {
		m, ok := answers[f.id]
		if ok && (m.Error == nil || !strings.HasPrefix(m.Error.Message, "Invalid request: ")) {
			taken[f.Kind]++
		}
	}
	t.Logf("of %d forms codex takes %v", len(cases), taken)
	for _, kind := range []string{"array for struct", "map for enum", "array for tagged", "private key", "name twice"} {
		if taken[kind] == 0 {
			t.Errorf("codex takes no %s: the forms show nothing", kind)
		}
	}
}

// No other form gets to Codex.
func TestOtherFormsRefused(t *testing.T) {
	t.Parallel()
	o, dir := withTee(t, options{config: "[policy]\nmode = \"enforce\"\n"})
	w := newWorld(t, o)
	c := w.open(proxyArgv...)
	c.initialize(nil)
	cases := formCases(formMethodsPassing, 4)
	c.replies(cases)
	byID := make(map[string]formCase)
	for _, f := range cases {
		byID[f.id] = f
		// The bridge answers each, what waits for its thread later than the rest.
		if _, err := c.Wait(c.ctx, 0, func(m editor.Message) bool { return !m.Sent && m.IsAnswer() && string(m.ID) == `"`+f.id+`"` }); err != nil {
			t.Fatalf("%s is not answered: %v", f.line, err)
		}
	}
	c.quit()
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
			t.Errorf("%s at %q gets to codex: %s", f.Kind, f.Path, line)
		}
	}
}

// step is a member or an element.
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
