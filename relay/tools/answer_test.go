package tools_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"codex-bridge.example/relay/tools"
)

func TestAnswerOnTheWire(t *testing.T) {
	a := tools.Convert(tools.Result{Content: []tools.Content{{Text: "a"}, {Text: ""}, {Image: pixel}}}, 100)
	got, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"contentItems":[{"type":"inputText","text":"a"},{"type":"inputText","text":""},{"type":"inputImage","imageUrl":"` + pixel + `"}],"success":true}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if got, _ := json.Marshal(tools.Answer{}); string(got) != `{"contentItems":[],"success":false}` {
		t.Errorf("%s", got)
	}
}

func TestConvertImages(t *testing.T) {
	encode := func(data string) string { return base64.StdEncoding.EncodeToString([]byte(data)) }
	const png, jpeg, gif, webp = "\x89PNG\r\n\x1a\nxx", "\xff\xd8\xff\xe0", "GIF89a..", "RIFF....WEBPVP8 "
	for _, test := range []struct{ name, url, want string }{ // want: the URL, or a part of the text
		{"png", pixel, pixel},
		{"a wrong label", "data:image/jpeg;base64," + encode(png), "data:image/png;base64," + encode(png)},
		{"no label", "data:;base64," + encode(jpeg), "data:image/jpeg;base64," + encode(jpeg)},
		{"capitals and parameters", "DATA:image/GIF;charset=x;BASE64," + encode(gif), "data:image/gif;base64," + encode(gif)},
		{"lines", "data:image/webp;base64," + encode(webp)[:6] + "\r\n " + encode(webp)[6:], "data:image/webp;base64," + encode(webp)},
		{"without the padding", strings.TrimRight(pixel, "="), pixel},
		{"not base64", "data:image/png;base64,%%%", "not base64"},
		{"a bit too much", "data:image/png;base64," + encode(png) + "A", "not base64"},
		{"nothing", "data:image/png;base64,", "not PNG"},
		{"a text", "data:image/png;base64," + encode("hello"), "not PNG"},
		{"svg", "data:image/svg+xml;base64," + encode("<svg/>"), "not PNG"},
		{"a wave file", "data:image/webp;base64," + encode("RIFF....WAVEfmt "), "not PNG"},
		{"not in base64", "data:image/png,abc", "only data URLs"},
		{"a file", "file:///etc/passwd", "only data URLs"},
		{"an address", "https://example.com/x.png", "only data URLs"},
		{"too large", "data:image/png;base64," + encode(png+strings.Repeat("x", 20<<20)), "larger than 20 MiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := tools.Convert(tools.Result{Content: []tools.Content{{Image: test.url}}}, 1000)
			got := a.Items[0].Image
			if !strings.HasPrefix(test.want, "data:") {
				if got != "" || !strings.Contains(a.Items[0].Text, test.want) {
					t.Errorf("%.100q, %q", got, a.Items[0].Text)
				}
			} else if got != test.want {
				t.Errorf("%.100q", got)
			}
			if !a.Success {
				t.Error("an image that is left out is no failure")
			}
		})
	}
	large := tools.Content{Image: "data:;base64," + encode(png+strings.Repeat("x", 15<<20))}
	a := tools.Convert(tools.Result{Content: []tools.Content{large, large}}, 1000)
	if a.Items[0].Image == "" || !strings.Contains(a.Items[1].Text, "too large together") {
		t.Errorf("%q", a.Items[1].Text)
	}
}

func TestConvertTexts(t *testing.T) {
	for _, test := range []struct {
		name    string
		content []string
		failed  bool
		most    int
		want    []string
	}{
		{"nothing", nil, false, 100, []string{"(The tool returned no output.)"}},
		{"empty texts", []string{"", ""}, false, 100, []string{"(The tool returned no output.)"}},
		{"nothing of a failure", []string{""}, true, 100, []string{"The tool failed without an error message."}},
		{"as many as go", []string{"abc", "de"}, false, 5, []string{"abc", "de"}},
		{"no characters", []string{"a\xffb"}, false, 100, []string{"a\uFFFDb"}},
		{"a limit shorter than the notice", []string{"abcdefgh"}, false, 5, []string{"\n[The"}},
		{"cut within the first", []string{strings.Repeat("a", 100), "b"}, false, 90, []string{strings.Repeat("a", 10) + "\n[The result is cut here: it has 101 characters, of which 90 at most are shown.]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := tools.Convert(tools.Result{Content: result(test.content...).Content, Failed: test.failed}, test.most)
			if diff := cmp.Diff(test.want, texts(a)); diff != "" || a.Success == test.failed {
				t.Error(diff)
			}
		})
	}
	many := make([]string, 1000)
	for i := range many {
		many[i] = "x"
	}
	a := tools.Convert(result(many...), 10000)
	if len(a.Items) != 512 || a.Items[511].Text != "[489 more pieces of the result are left out]" {
		t.Errorf("%d, %q", len(a.Items), a.Items[len(a.Items)-1].Text)
	}
}

// For any result, the texts are within the limit by any count, no character is split, and
// the start of the text is shown.
func TestConvertKeepsTheTextLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune("aé€😀\n"))), 0, 6).Draw(t, "said")
		most := rapid.IntRange(1, 200).Draw(t, "most")
		a := tools.Convert(result(said...), most)
		all := strings.Join(texts(a), "")
		if n := len(utf16.Encode([]rune(all))); n > most && strings.Join(said, "") != "" {
			t.Fatalf("%d characters", n)
		}
		if !utf8.ValidString(all) {
			t.Fatalf("%q", all)
		}
		whole := strings.Join(said, "")
		if units := len(utf16.Encode([]rune(whole))); whole != "" && (all == whole) != (units <= most) {
			t.Fatalf("%q of %q", all, whole)
		}
		shown, _, isCut := strings.Cut(all, "\n[The result is cut here")
		if isCut && !strings.HasPrefix(whole, shown) {
			t.Fatalf("%q of %q", all, whole)
		}
	})
}
