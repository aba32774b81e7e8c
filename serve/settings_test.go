package serve

import (
	"encoding/json"
	"testing"

	"codex-bridge.example/rpc"
)

// The settings of a client in its requests. The request wins.
func TestSettingsOfRequests(t *testing.T) {
	s := Settings{Folder: "/w", Config: map[string]json.RawMessage{"features.x": json.RawMessage("true"), "model": json.RawMessage(`"m"`)}}
	for request, want := range map[string]string{
		`"thread/start","params":{}`:                                               `{"cwd":"/w","config":{"features.x":true,"model":"m"}}`,
		`"thread/start","params":{"cwd":"/own","config":null}`:                     `{"cwd":"/own","config":{"features.x":true,"model":"m"}}`,
		`"thread/resume","params":{"threadId":"t","config":{"features":{}}}`:       `{"threadId":"t","config":{"features":{},"model":"m"}}`,
		`"thread/fork","params":{"config":{"features.y":1,"model":"own"}}`:         ``,
		`"thread/start","params":{"cwd":"/own","config":{"model":1,"features":2}}`: ``,
		`"thread/start","params":{"cwd":"/own","config":[]}`:                       ``,
	} {
		m, err := rpc.ParseMessage([]byte(`{"id":1,"method":` + request + `}`))
		if err != nil {
			t.Fatal(err)
		}
		line := s.addTo(m)
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
	if got := parseSettings(s.Header()); got.Folder != "/w" || string(got.Config["model"]) != `"m"` {
		t.Errorf("%+v", got)
	}
}

func equalJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
