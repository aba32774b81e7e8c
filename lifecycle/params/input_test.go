package params

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/rpc"
)

func decodedItems(t *testing.T, items any) (out []any) {
	t.Helper()
	text, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMedia(t *testing.T) {
	for _, c := range []struct {
		media media
		want  string // "" for none
	}{
		{media{URL: "file:///a%20b.png"}, `{"type":"localImage","path":"/a b.png"}`},
		{media{URL: "file://localhost/a.png"}, `{"type":"localImage","path":"/a.png"}`},
		{media{URL: "file://server/share/a.png"}, ""},
		{media{URL: "file:////server/share/a.png"}, ""},
		{media{URL: "https://x/a.WEBP?size=1"}, `{"type":"image","url":"https://x/a.WEBP?size=1"}`},
		{media{URL: "https://x/a.txt?name=b.png"}, ""},
		{media{Path: "/a.png", Type: "text/plain"}, ""},
		{media{URL: `C:\a\b.png`}, `{"type":"localImage","path":"C:\\a\\b.png"}`},
		{media{URL: "c:/a/b.PNG"}, `{"type":"localImage","path":"c:/a/b.PNG"}`},
		{media{URL: "file:///C:/a.png"}, `{"type":"localImage","path":"C:/a.png"}`},
		{media{Path: "//server/share/a.png"}, ""},
		{media{Path: `\\server\share\a.png`}, ""},
		{media{URL: "file:///"}, ""},
		{media{URL: "data:image/png;base64,AA==", Type: "image/png"}, `{"type":"image","url":"data:image/png;base64,AA=="}`},
		{media{}, ""},
	} {
		item, ok := c.media.item()
		got, err := json.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		if ok != (c.want != "") || ok && string(got) != c.want && !sameItems(t, got, c.want) {
			t.Errorf("%+v is %s, %v", c.media, got, ok)
		}
	}
}

func sameItems(t *testing.T, got []byte, want string) bool {
	t.Helper()
	return cmp.Equal(decodedItems(t, []json.RawMessage{got}), decodedItems(t, []json.RawMessage{json.RawMessage(want)}))
}

const pixel = "iVBORw0KGgo="

func TestRead(t *testing.T) {
	for _, c := range []struct{ in, items, text, err string }{
		{in: `"hi"`, items: `[{"type":"text","text":"hi","text_elements":[]}]`, text: "hi"},
		{in: `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, items: `[{"type":"text","text":"a","text_elements":[]},{"type":"text","text":"b","text_elements":[]}]`, text: "a\nb"},
		{in: `[{"type":"text","text":"@a","text_elements":[{"x":1}]}]`, items: `[{"type":"text","text":"@a","text_elements":[{"x":1}]}]`, text: "@a"},
		{in: `[{"type":"image","path":"/a.png"}]`, items: `[{"type":"localImage","path":"/a.png"}]`},
		{in: `[{"type":"image","dataBase64":"` + pixel + `","mime":"image/gif"}]`, items: `[{"type":"image","url":"data:image/png;base64,` + pixel + `"}]`},
		{in: `[{"type":"image","url":"https://x/1"}]`, items: `[{"type":"image","url":"https://x/1"}]`},
		{in: `[{"type":"image","url":"https://x/1","detail":"low"}]`, items: `[{"type":"image","url":"https://x/1","detail":"low"}]`},
		{in: `[{"type":"image","url":"file:///a%20b.png"}]`, items: `[{"type":"localImage","path":"/a b.png"}]`},
		{in: `[{"type":"image","url":"C:\\a.png"}]`, items: `[{"type":"localImage","path":"C:\\a.png"}]`},
		{in: `[{"type":"image","url":"//unc/a.png"}]`, items: `[{"type":"text","text":"[an image that could not be read was left out]","text_elements":[]}]`},
		{in: `[{"type":"text","text":"a"},{"type":"media","path":"/a.txt"},{"type":"media","url":"https://x/a","mime":"image/png"}]`,
			items: `[{"type":"text","text":"a","text_elements":[]},{"type":"image","url":"https://x/a"}]`, text: "a"},
		{in: `[{"type":"media","path":"/a.txt"}]`, err: "files other than images"},
		{in: `[{"type":"media"}]`, err: "give a path"},
		{in: `[{"type":"media","path":5}]`, err: "not a string"},
		{in: `[{"type":"image","fileId":"f"}]`, items: `[{"type":"image","fileId":"f"}]`},
		{in: `[{"type":"mention","name":"n","path":"/p","more":[1.0]}]`, items: `[{"type":"mention","name":"n","path":"/p","more":[1.0]}]`},
		{in: `[{"type":"skill","name":"n","path":"/p"}]`, items: `[{"type":"skill","name":"n","path":"/p"}]`},
		{in: `[{"type":"image","path":"/a","url":"b"}]`, err: "input[0]: give one of"},
		{in: `[{"type":"text"}]`, err: "input[0]: text"},
		{in: `[{"text":"a"}]`, err: "input[0]: it has no type"},
		{in: `[]`, err: "0 items"},
		{in: `" "`, err: "blank"},
		{in: `" \n hi there\t"`, items: `[{"type":"text","text":"hi there","text_elements":[]}]`, text: "hi there"},
		{in: `[{"type":"text","text":" "}]`, err: "blank"},
		{in: `[{"type":"text","text":""},{"type":"text","text":"\n","text_elements":[]}]`, err: "blank"},
		{in: `[{"type":"text","text":" a"}]`, items: `[{"type":"text","text":" a","text_elements":[]}]`, text: " a"},
		{in: `[{"type":"text","text":""},{"type":"image","path":"/a.png"}]`, items: `[{"type":"text","text":"","text_elements":[]},{"type":"localImage","path":"/a.png"}]`},
		{in: `{}`, err: "it is"},
	} {
		doc, err := rpc.ParseValue([]byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadInput(doc.Root())
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v", c.in, err)
			}
		case err != nil || got.Text != c.text:
			t.Errorf("%s: %+v, %v", c.in, got, err)
		default:
			var want []any
			if err := json.Unmarshal([]byte(c.items), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, decodedItems(t, got.Items)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.in, diff)
			}
		}
	}
}
