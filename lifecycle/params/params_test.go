package params

import (
	"encoding/base64"
	"encoding/json"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"codex-bridge.example/lifecycle/internal/jsontest"
)

func decoded(t *testing.T, text []byte) (v any) {
	t.Helper()
	if text == nil {
		return nil
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func same(t *testing.T, got, want []byte) {
	t.Helper()
	if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThread(t *testing.T) {
	const asked = `{"bridge":{"sessionKey":"k"},"model":"m","modelProvider":"openai-codex","cwd":"/w","approvalPolicy":"on-failure",
		"serviceTier":"fast","developerInstructions":"Be <brief>.","config":{"a":{"y":2},"b":1},"dynamicTools":[],"environments":[],
		"experimentalRawEvents":true,"later":{"n":12345678901234567890}}`
	o := Options{
		ServiceName: "codex-bridge", Instructions: "First.",
		Config: Config{
			Configured:  json.RawMessage(`{"a":{"x":1,"y":1},"b":0}`),
			UserServers: json.RawMessage(`{"mcp_servers":{"s":{"command":"x"}}}`),
			Apps:        json.RawMessage(`{"apps":{"g":{"enabled":true}}}`),
		},
	}
	start, err := ThreadStart(json.RawMessage(asked), o)
	if err != nil {
		t.Fatal(err)
	}
	same(t, start, []byte(`{"model":"m","modelProvider":"openai","cwd":"/w","approvalPolicy":"on-request","serviceTier":"priority",
		"serviceName":"codex-bridge","developerInstructions":"First.\n\nBe <brief>.","dynamicTools":[],"environments":[],
		"experimentalRawEvents":true,"later":{"n":12345678901234567890},
		"config":{"a":{"x":1,"y":2},"b":1,"mcp_servers":{"s":{"command":"x"}},"apps":{"g":{"enabled":true}}}}`))
	if !strings.Contains(string(start), "12345678901234567890") || !strings.Contains(string(start), "<brief>") {
		t.Errorf("a number or a text is written in another way: %s", start)
	}
	resume, err := ThreadResume(json.RawMessage(asked), "T", o)
	if err != nil {
		t.Fatal(err)
	}
	same(t, resume, []byte(`{"threadId":"T","model":"m","modelProvider":"openai","cwd":"/w","approvalPolicy":"on-request","serviceTier":"priority",
		"developerInstructions":"First.\n\nBe <brief>.",
		"config":{"a":{"x":1,"y":2},"b":1,"mcp_servers":{"s":{"command":"x"}}}}`))
}

func TestThreadKeepsOtherMembers(t *testing.T) {
	for _, c := range []struct{ asked, start, resume string }{
		{`{}`, `{}`, `{"threadId":"T"}`},
		{``, `{}`, `{"threadId":"T"}`},
		{`{"config":null,"model":null,"developerInstructions":null}`, `{"model":null,"developerInstructions":null}`,
			`{"threadId":"T","model":null,"developerInstructions":null}`},
		{`{"approvalPolicy":{"granular":{}},"serviceTier":"  ","serviceName":"own","modelProvider":" codex "}`,
			`{"approvalPolicy":{"granular":{}},"serviceName":"own"}`, `{"threadId":"T","approvalPolicy":{"granular":{}}}`},
		{`{"threadId":"other","path":"/x","history":[]}`, `{"threadId":"other","path":"/x","history":[]}`, `{"threadId":"T"}`},
	} {
		start, err := ThreadStart(json.RawMessage(c.asked), Options{})
		if err != nil {
			t.Fatal(err)
		}
		same(t, start, []byte(c.start))
		resume, err := ThreadResume(json.RawMessage(c.asked), "T", Options{})
		if err != nil {
			t.Fatal(err)
		}
		same(t, resume, []byte(c.resume))
	}
}

func TestThreadErrors(t *testing.T) {
	for _, asked := range []string{`[]`, `{"config":[]}`, `{"modelProvider":5}`, `{"serviceTier":5}`, `{"developerInstructions":[]}`, `{"a":1,"a":2}`} {
		if p, err := ThreadStart(json.RawMessage(asked), Options{}); err == nil {
			t.Errorf("thread/start of %s is %s", asked, p)
		}
		if p, err := ThreadResume(json.RawMessage(asked), "T", Options{}); err == nil {
			t.Errorf("thread/resume of %s is %s", asked, p)
		}
	}
}

func TestLightweightIsLast(t *testing.T) {
	c := Config{Configured: json.RawMessage(`{"project_doc_max_bytes":5,"features.code_mode":true}`), CodeMode: CodeModeOff, Lightweight: true}
	got, err := c.resume()
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, []byte(`{"project_doc_max_bytes":0,"features.code_mode":false,"features.code_mode_only":false}`))
}

func TestTurn(t *testing.T) {
	turn := Turn{
		Thread: "T", Input: []Item{TextItem(""), TextItem("go")}, Cwd: "/w", Approval: "on-failure",
		Sandbox: "workspace-write", Model: "m", ServiceTier: "fast", Effort: "low", ThreadEffort: "high", Trigger: "user",
	}
	got, err := turn.Params()
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, []byte(`{"threadId":"T","input":[{"type":"text","text":"","text_elements":[]},{"type":"text","text":"go","text_elements":[]}],
		"cwd":"/w","approvalPolicy":"on-request","model":"m","serviceTier":"priority","effort":"low","bridge":{"trigger":"user"},
		"sandboxPolicy":{"type":"workspaceWrite","writableRoots":["/w"],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false},
		"collaborationMode":{"mode":"default","settings":{"model":"m","reasoning_effort":"low","developer_instructions":null}}}`))
	for name, bad := range map[string]Turn{
		"thread": {Input: turn.Input}, "input": {Thread: "T"}, "sandbox": {Thread: "T", Input: turn.Input, Sandbox: "x"},
		"trigger": {Thread: "T", Input: turn.Input, Model: "m", Trigger: "moon"},
	} {
		if p, err := bad.Params(); err == nil {
			t.Errorf("without a right %s: %s", name, p)
		}
	}
}

func TestTrigger(t *testing.T) {
	for _, c := range []struct {
		now, before Trigger
		differs     bool
	}{{"", "", false}, {"user", "", false}, {"cron", "", true}, {"", "cron", true}, {"cron", "cron", false}, {"heartbeat", "cron", true}} {
		if got := c.now.Differs(c.before); got != c.differs {
			t.Errorf("%q after %q differs: %v", c.now, c.before, got)
		}
	}
	if mode, err := CollaborationMode(TriggerCron, TriggerInstructions{}, "", ""); err == nil {
		t.Errorf("a mode without a model, which Codex refuses: %s", mode)
	}
	mode, err := CollaborationMode(TriggerUser, TriggerInstructions{Cron: "x"}, "m", "")
	if err != nil {
		t.Fatal(err)
	}
	for trigger, says := range map[Trigger]string{TriggerUser: "null", TriggerCron: `"By the clock."`, TriggerHeartbeat: `"Look."`} {
		mode, err := CollaborationMode(trigger, TriggerInstructions{Cron: "By the clock.", Heartbeat: "Look."}, "m", "")
		if err != nil || !strings.Contains(string(mode), `"developer_instructions":`+says+"}") {
			t.Errorf("%s: %s, %v", trigger, mode, err)
		}
	}
	for _, c := range []struct{ asked, want string }{
		{`{"threadId":"T","bridge":{"trigger":"user"},"input":[]}`, `{"threadId":"T","input":[],"collaborationMode":` + string(mode) + `}`},
		{`{"collaborationMode":null}`, `{"collaborationMode":` + string(mode) + `}`},
		{`{"collaborationMode":{"mode":"plan"}}`, `{"collaborationMode":{"mode":"plan"}}`},
	} {
		got, err := WithMode(json.RawMessage(c.asked), mode)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, []byte(c.want))
	}
	got, err := WithMode(json.RawMessage(`{"bridge":{},"input":[]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, []byte(`{"input":[]}`))
}

func TestImage(t *testing.T) {
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\x0D\x0A\x1A\x0A rest"))
	for data, kind := range map[string]string{png: "image", " " + png + "\n": "image", "%%%": "text", base64.StdEncoding.EncodeToString([]byte("%PDF-1.7")): "text", "": "text"} {
		text, err := json.Marshal(imageItem(data))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), `"type":"`+kind+`"`) {
			t.Errorf("%q is %s", data, text)
		}
		if kind == "image" && !strings.Contains(string(text), "data:image/png;base64,"+png) {
			t.Errorf("the image is %s", text)
		}
	}
}

// A later layer replaces the members that it has and keeps all others.
func TestMergePrefersLaterLayers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed")))
		draw := func() (map[string]any, json.RawMessage) {
			o, ok := jsontest.Value(t, 3).(map[string]any)
			if !ok {
				o = map[string]any{}
			}
			return o, jsontest.Write(rnd, o)
		}
		a, aText := draw()
		b, bText := draw()
		text, err := mergeConfig(aText, nil, bText)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		if text != nil {
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
		}
		if want := merged(a, b); !jsontest.Equal(got, want) {
			t.Fatalf("%v over %v is %v, want %v", b, a, got, want)
		}
		again, err := mergeConfig(text, bText)
		twice := map[string]any{}
		if again != nil && json.Unmarshal(again, &twice) != nil || err != nil || !jsontest.Equal(twice, got) {
			t.Fatalf("merged once more it is %s, %v; it was %s", again, err, text)
		}
	})
}

func merged(a, b map[string]any) map[string]any {
	m := map[string]any{}
	for name, v := range a {
		m[name] = v
	}
	for name, v := range b {
		x, isX := m[name].(map[string]any)
		y, isY := v.(map[string]any)
		if isX && isY {
			m[name] = merged(x, y)
			continue
		}
		m[name] = v
	}
	return m
}

// The configured code mode wins over both forms of the client's key.
func TestConfiguredCodeModeWins(t *testing.T) {
	for _, c := range []struct{ asked, want string }{
		{`{"features":{"code_mode":true,"x":1}}`, `{"features":{"code_mode":false,"code_mode_only":false,"x":1}}`},
		{`{"features":{"x":1},"features.code_mode_only":true,"features.y":2}`, `{"features":{"code_mode":false,"code_mode_only":false,"x":1},"features.y":2}`},
		{`{"features":7,"features.code_mode":true}`, `{"features":7,"features.code_mode":false,"features.code_mode_only":false}`},
	} {
		got, err := Config{Requested: json.RawMessage(c.asked), CodeMode: CodeModeOff}.start()
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, []byte(c.want))
	}
}
