package methods_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/rpc"
)

// The table is that of the measured Codex, and has a shape for each of its methods.
func TestTable(t *testing.T) {
	table := methods.Shapes()
	null, err := rpc.ParseValue([]byte("null"))
	if err != nil {
		t.Fatal(err)
	}
	if table.Version != methods.Measured {
		t.Errorf("the table is of codex %s, not %s: run `make schema`", table.Version, methods.Measured)
	}
	for side, shapes := range map[methods.Side]map[string]*methods.Shape{
		methods.ClientRequest: table.Requests, methods.ClientNotification: table.Notifications, methods.ServerRequest: table.Answers,
	} {
		for _, name := range methods.Names(side) {
			if shapes[name] == nil {
				t.Errorf("%s %s has no shape", side, name)
			}
			// The shape must be decodable.
			methods.CheckRequest(name, null.Root())
			methods.CheckNotification(name, null.Root())
			methods.CheckResponse(name, null.Root())
		}
	}
}

// The lines of the table have the shapes of its JSON.
func TestShapeTexts(t *testing.T) {
	text, err := os.ReadFile("shapes.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Requests, Notifications, Answers, Definitions map[string]json.RawMessage }
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	got := methods.ShapeTexts(text)
	for name, table := range map[string]map[string]json.RawMessage{
		"requests": want.Requests, "notifications": want.Notifications, "answers": want.Answers, "definitions": want.Definitions,
	} {
		if len(table) == 0 || len(got[name]) != len(table) {
			t.Errorf("%s: %d shapes, want %d and some", name, len(got[name]), len(table))
		}
		for key, shape := range table {
			if !bytes.Equal(got[name][key], shape) {
				t.Errorf("%s %s: %s, want %s", name, key, got[name][key], shape)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct{ method, params, path, found string }{
		{"initialize", `{"clientInfo":{"name":"x","version":"1"},"capabilities":null}`, "", ""},
		{"initialize", `{"clientInfo":{"name":"x","version":"1"},"capabilities":{"experimentalApi":true,"extensions":{"x":[1]},"later":7}}`, "", ""},
		{"initialize", `{"clientInfo":{"name":"x","version":"1"},"capabilities":[true]}`, "capabilities", "an array"},
		{"initialize", `{"capabilities":{"experimentalApi":"true"}}`, "capabilities.experimentalApi", "a string"},
		{"initialize", `{"capabilities":{"optOutNotificationMethods":["x",{"y":null}]}}`, "capabilities.optOutNotificationMethods[1]", "an object"},
		{"initialize", `[]`, "", "an array"},
		{"turn/start", `{"input":[{"type":"text","text":"x","text_elements":[]},{"type":"image","url":"data:"},{"type":"image","fileId":"f"}]}`, "", ""},
		{"turn/start", `{"input":[{"type":"text","text":7}]}`, "input[0].text", "a number"},
		{"turn/start", `{"input":[["text","x"]]}`, "input[0]", "an array"},
		{"turn/start", `{"input":[{"text":"x"}]}`, "input[0].type", "nothing"},
		{"turn/start", `{"input":[{"type":{"text":null},"text":"x"}]}`, "input[0].type", "an object"},
		{"turn/start", `{"input":[{"type":"later"}]}`, "input[0].type", `the unknown name "later"`},
		{"turn/start", `{"input":[{"type":"image","url":["x"]}]}`, "input[0].fileId", "nothing"},
		{"turn/start", `{"approvalPolicy":{"never":null}}`, "approvalPolicy.never", "a member that Codex's schema does not have"},
		{"turn/start", `{"approvalPolicy":{"granular":{"rules":true,"sandbox_approval":true,"mcp_elicitations":true}}}`, "", ""},
		{"turn/start", `{"approvalPolicy":"a later one"}`, "", ""},
		{"turn/start", `{"sandboxPolicy":{"type":"readOnly","access":{"type":"fullAccess"}}}`, "sandboxPolicy.access", "a member that Codex's schema does not have"},
		{"thread/start", `{"config":{"a":{"b":[{"\u0024__toml_private_datetime":"x"}]}}}`, "config.a.b[0].$__toml_private_datetime", "a key that begins with $__toml_private_"},
		{"thread/start", `{"config":["x"]}`, "config", "an array"},
		{"thread/start", `{"dynamicTools":[{"name":"x","description":"d","inputSchema":{}}],"persistExtendedHistory":true}`, "", ""},
		{"thread/start", `{"dynamicTools":[{"name":["x"],"description":"d","inputSchema":{}}]}`, "dynamicTools[0].name", "an array"},
		{"later/method", `[7]`, "", ""},
	} {
		doc, err := rpc.ParseValue([]byte(c.params))
		if err != nil {
			t.Fatal(err)
		}
		switch m := methods.CheckRequest(c.method, doc.Root()); {
		case m == nil && c.found != "":
			t.Errorf("%s %s passes", c.method, c.params)
		case m != nil && (m.Path != c.path || m.Found != c.found || m.Want == ""):
			t.Errorf("%s %s: %+v, want %q, %q", c.method, c.params, *m, c.path, c.found)
		}
	}
}

// Messages of real clients match.
func TestCaptures(t *testing.T) {
	files, err := filepath.Glob("../../testdata/captures/*-in.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures: %v", err)
	}
	for _, file := range files {
		asked := make(map[string]string) // methods of Codex's requests by id
		each(t, strings.TrimSuffix(file, "in.jsonl")+"out.jsonl", func(line []byte) {
			if e, err := rpc.ParseEnvelope(line); err == nil && e.Method != "" && e.ID.IsValid() {
				asked[e.ID.Key()] = e.Method
			}
		})
		checked := 0
		each(t, file, func(line []byte) {
			m, err := rpc.ParseMessage(line)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			var wrong *methods.Mismatch
			switch m.Kind {
			case rpc.Request:
				wrong = methods.CheckRequest(m.Method, m.Params)
			case rpc.Notification:
				wrong = methods.CheckNotification(m.Method, m.Params)
			case rpc.Response:
				wrong = methods.CheckResponse(asked[m.ID.Key()], m.Result)
			}
			if checked++; wrong != nil {
				t.Errorf("%s: %s\n%+v", filepath.Base(file), line, *wrong)
			}
		})
		if checked == 0 {
			t.Errorf("%s has no message", file)
		}
	}
}

func each(t *testing.T, file string, f func(line []byte)) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) > 0 {
			f(lines.Bytes())
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	text := []byte(`{"threadId":"T","input":[{"type":"text","text":"` + strings.Repeat("what is to be done ", 50) + `","text_elements":[]}],"approvalPolicy":"on-request","sandboxPolicy":{"type":"workspaceWrite","writableRoots":["/x"],"networkAccess":false},"model":"gpt-5.5","effort":"high"}`)
	doc, err := rpc.ParseValue(text)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if methods.CheckRequest("turn/start", doc.Root()) != nil {
			b.Fatal("refused")
		}
	}
}
