package provider_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/tools/provider"
)

func TestParseOutput(t *testing.T) {
	x := []tools.Content{{Text: "x"}}
	for _, test := range []struct {
		name, printed string
		want          tools.Result
		fault         string
	}{
		{name: "a text", printed: "x", want: tools.Result{Content: x}},
		{name: "nothing", printed: ""},
		{name: "other bytes", printed: "a\xff", want: tools.Result{Content: []tools.Content{{Text: "a\uFFFD"}}}},
		{name: "another object", printed: `{"a":1}`, want: tools.Result{Content: []tools.Content{{Text: `{"a":1}`}}}},
		{name: "another spelling", printed: `{"contentitems":[]}`, want: tools.Result{Content: []tools.Content{{Text: `{"contentitems":[]}`}}}},
		{name: "MCP's own", printed: `{"content":[{"type":"text","text":"x"}]}`, want: tools.Result{Content: []tools.Content{{Text: `{"content":[{"type":"text","text":"x"}]}`}}}},
		{name: "two objects", printed: `{"contentItems":[]}{}`, want: tools.Result{Content: []tools.Content{{Text: `{"contentItems":[]}{}`}}}},
		{name: "items", printed: "\n {\"contentItems\":[{\"type\":\"inputText\",\"text\":\"x\"},{\"type\":\"inputImage\",\"imageUrl\":\"data:,\"}]}\n", want: tools.Result{Content: []tools.Content{{Text: "x"}, {Image: "data:,"}}}},
		{name: "no items", printed: `{"contentItems":[]}`},
		{name: "no success", printed: `{"contentItems":[{"type":"inputText","text":"x"}],"success":false}`, want: tools.Result{Content: x, Failed: true}},
		{name: "success of null", printed: `{"contentItems":[{"type":"inputText","text":"x"}],"success":null,"details":null}`, want: tools.Result{Content: x}},
		{name: "details that tell of a failure", printed: `{"contentItems":[{"type":"inputText","text":"x"}],"success":true,"details":{"timedOut":true}}`, want: tools.Result{Content: []tools.Content{{Text: "x"}, {Text: "\nDetails: {\"timedOut\":true}"}}, Failed: true}},
		{name: "an exit code that is none", printed: `{"contentItems":[],"details":{"exitCode":"x"}}`, fault: "details"},
		{name: "another kind", printed: `{"contentItems":[{"type":"inputAudio","audioUrl":"data:,"}]}`, want: tools.Result{Content: []tools.Content{{Text: `[41 bytes of a content of the type "inputAudio", which is not passed on]`}}}},
		{name: "an image that is nowhere", printed: `{"contentItems":[{"type":"inputImage","imageUrl":""}]}`, want: tools.Result{Content: []tools.Content{{Image: "data:,"}}}},
		{name: "null", printed: `{"contentItems":null}`, fault: "is not a list"},
		{name: "an object", printed: `{"contentItems":{}}`, fault: "is not a list"},
		{name: "a text in the list", printed: `{"contentItems":["x"]}`, fault: "contentItems[0] is not an object"},
		{name: "null in the list", printed: `{"contentItems":[null]}`, fault: "contentItems[0] is not an object"},
		{name: "no type", printed: `{"contentItems":[{"text":"x"}]}`, fault: "contentItems[0] has no type"},
		{name: "no text", printed: `{"contentItems":[{"type":"inputText"}]}`, fault: "contentItems[0] has no text"},
		{name: "a text that is a number", printed: `{"contentItems":[{"type":"inputText","text":5}]}`, fault: "contentItems[0] has no text"},
		{name: "no image", printed: `{"contentItems":[{"type":"inputImage"}]}`, fault: "contentItems[0] has no imageUrl"},
		{name: "success of a text", printed: `{"contentItems":[],"success":"yes"}`, fault: "neither true nor false"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := provider.ParseOutput([]byte(test.printed))
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("%+v, %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Any output is returned as text, or parsed, and Codex accepts the result.
func FuzzParseOutput(f *testing.F) {
	for _, seed := range []string{
		"x", "", "{", `{"contentItems":[]}`, `{"contentItems":[{"type":"inputText","text":"\ud800"}],"success":false,"details":{"status":"failed","exitCode":1e400}}`,
		`{"contentItems":[{"type":"inputImage","imageUrl":"data:image/png;base64,iVBORw0KGgo="}]}`, "a\xff", `{"contentItems":[{"type":"inputImage","imageUrl":""}],"contentItems":[1]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, printed []byte) {
		r, err := provider.ParseOutput(printed)
		if err != nil {
			return
		}
		plain := strings.ToValidUTF8(string(printed), "\uFFFD")
		if !json.Valid(printed) && plain != "" && (r.Failed || len(r.Content) != 1 || r.Content[0].Text != plain) {
			t.Fatalf("%q became %+v", printed, r)
		}
		a := tools.Convert(r, 100)
		text, err := json.Marshal(a)
		if err != nil || !utf8.Valid(text) || len(a.Items) == 0 {
			t.Fatalf("%s, %v", text, err)
		}
		for _, item := range a.Items {
			if item.Image != "" && !strings.HasPrefix(item.Image, "data:image/") {
				t.Fatalf("%q", item.Image)
			}
		}
	})
}
