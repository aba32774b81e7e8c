package serve

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"codex-bridge.example/rpc"
)

// The settings of a client in its requests. As in Codex each value of the request wins, and its table
// replaces a table.
func TestSettingsOfRequests(t *testing.T) {
	s := Settings{Folder: "/w", Config: Overrides{"features.x": json.RawMessage("true"), "model": json.RawMessage(`"m"`), "t": json.RawMessage(`{"a":1,"b":{"c":2}}`)}}
	const own = `"features.x":true,"model":"m","t":{"a":1,"b":{"c":2}}`
	for request, want := range map[string]string{
		`"thread/start","params":{}`:                                         `{"cwd":"/w","config":{` + own + `}}`,
		`"thread/start","params":{"cwd":"/own","config":null}`:               `{"cwd":"/own","config":{` + own + `}}`,
		`"thread/resume","params":{"threadId":"t","config":{"features":{}}}`: `{"threadId":"t","config":{"features":{},"model":"m","t":{"a":1,"b":{"c":2}}}}`,
		`"thread/fork","params":{"config":{"features.y":1,"model":"own"}}`:   `{"config":{"features.x":true,"features.y":1,"model":"own","t":{"a":1,"b":{"c":2}}}}`,
		`"thread/fork","params":{"config":{"features.x":false}}`:             `{"config":{"features.x":false,"model":"m","t":{"a":1,"b":{"c":2}}}}`,
		`"thread/fork","params":{"config":{"t.b.d":3,"t.e.f":4,"t.a.g":5}}`:  `{"config":{"features.x":true,"model":"m","t":{"a":{"g":5},"b":{"c":2,"d":3},"e":{"f":4}}}}`,
		`"thread/fork","params":{"config":{"model.x":1,"features":2,"t":3}}`: `{"config":{"model.x":1,"features":2,"t":3}}`,
		`"thread/start","params":{"cwd":"/own","config":[]}`:                 ``,
	} {
		m, err := rpc.ParseMessage([]byte(`{"id":1,"method":` + request + `}`))
		if err != nil {
			t.Fatal(err)
		}
		line, refused := s.addTo(m, func(string, json.RawMessage, json.RawMessage) (bool, string) { return false, "" })
		if refused != nil {
			t.Fatal(refused)
		}
		if line == nil {
			if want != "" {
				t.Errorf("%s: not changed", request)
			}
			continue
		}
		changed, err := rpc.ParseMessage(line)
		if err != nil {
			t.Fatal(err)
		}
		var got, wanted any
		if json.Unmarshal(changed.Params.Raw(), &got) != nil || want == "" || json.Unmarshal([]byte(want), &wanted) != nil || !equalJSON(got, wanted) {
			t.Errorf("%s: %s, want %s", request, changed.Params.Raw(), want)
		}
	}
	if got, err := parseSettings(s.Header()); err != nil || got.Folder != "/w" || string(got.Config["model"]) != `"m"` {
		t.Errorf("%+v, %v", got, err)
	}
}

// Settings that can't be read whole are an error, and never empty ones, which would lose the overrides.
func TestUnreadableSettings(t *testing.T) {
	for _, texts := range [][]string{
		{""}, {"%7"}, {"[]"}, {"{}"}, {"null"}, {`{"folder":1}`}, {`{"folder":""}`}, {`{"folder":"/w"`}, {`{"folder":"/w","config":[]}`}, {`{"folder":"/w","later":1}`},
		{`{"folder":"/w"}{"config":{}}`}, {`{"folder":"/w"}`, `{"folder":"/w"}`},
	} {
		if got, err := parseSettings(http.Header{SettingsHeader: texts}); err == nil || got.Folder != "" || !strings.Contains(err.Error(), SettingsHeader) {
			t.Errorf("%q: %+v, %v", texts, got, err)
		}
	}
	if got, err := parseSettings(http.Header{}); err != nil || got.Folder != "" {
		t.Errorf("without a header: %+v, %v", got, err)
	}
}

// An override that must not be lost counts although the request replaces it, or refuses the request.
func TestReplacedOverrides(t *testing.T) {
	s := Settings{Config: Overrides{"f": json.RawMessage(`{"keep":1,"other":2}`), "e.lost": json.RawMessage("3")}}
	replaced := func(key string, _, by json.RawMessage) (bool, string) {
		if key == "e.lost" && by == nil {
			return false, "without it more is sent"
		}
		return key == "f.keep", ""
	}
	for config, want := range map[string]string{
		`{"f":{"x":4}}`:        `{"e.lost":3,"f":{"keep":1,"x":4}}`,
		`{"f.keep":4,"e.x":5}`: `{"e.lost":3,"e.x":5,"f":{"keep":1,"other":2}}`,
		`{"f":6,"e.lost":7}`:   `{"e.lost":7,"f.keep":1}`,
		`{"e":{}}`:             ``,
	} {
		m, err := rpc.ParseMessage([]byte(`{"id":1,"method":"thread/fork","params":{"config":` + config + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		line, refused := s.addTo(m, replaced)
		if want == "" {
			if refused == nil || !strings.Contains(refused.Reason, "e.lost") {
				t.Errorf("%s: %s, error %v", config, line, refused)
			}
		} else if want = `{"id":1,"method":"thread/fork","params":{"config":` + want + `}}`; string(line) != want {
			t.Errorf("%s: %s, want %s; error %v", config, line, want, refused)
		}
	}
}

func equalJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
