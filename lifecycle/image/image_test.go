package image

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"image"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/rpc"
)

const webp = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"

func picture(t *testing.T, kind string) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	one := image.NewPaletted(image.Rect(0, 0, 20, 10), palette.Plan9)
	switch kind {
	case "png":
		err = png.Encode(&b, one)
	case "jpeg":
		err = jpeg.Encode(&b, one, nil)
	case "gif":
		err = gif.Encode(&b, one, nil)
	case "webp":
		var raw []byte
		raw, err = base64.StdEncoding.DecodeString(webp)
		b.Write(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// vast returns a PNG whose header claims the given size.
func vast(t *testing.T, width, height uint32) []byte {
	data := bytes.Clone(picture(t, "png"))
	binary.BigEndian.PutUint32(data[16:], width)
	binary.BigEndian.PutUint32(data[20:], height)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

func TestRead(t *testing.T) {
	for _, kind := range []string{"png", "jpeg", "gif", "webp"} {
		data := picture(t, kind)
		got, err := decode(data)
		if err != nil || got.Mime != "image/"+kind || !bytes.Equal(got.Data, data) {
			t.Errorf("%s: %s, %v", kind, got.Mime, err)
		}
		if want := "data:image/" + kind + ";base64," + base64.StdEncoding.EncodeToString(data); got.URL() != want {
			t.Errorf("%s: %s", kind, got.URL())
		}
		if _, err := decode(data[:len(data)*2/3]); err == nil {
			t.Errorf("%s: one that is cut off was taken", kind)
		}
	}
	for name, data := range map[string][]byte{
		"empty": nil, "text": []byte("PNG"), "svg": []byte("<svg/>"), "large": make([]byte, maxBytes+1), "vast": vast(t, 50_000, 50_000), "flat": vast(t, 1<<31-1, 1<<31-1),
	} {
		if _, err := decode(data); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestCheck(t *testing.T) {
	some := func(n, size int) []Image {
		all := make([]Image, n)
		for i := range all {
			all[i].Data = make([]byte, size)
		}
		return all
	}
	for _, test := range []struct {
		job  Job
		want string
	}{
		{Job{Images: some(1, 1)}, ""},
		{Job{Images: some(maxImages, 1)}, ""},
		{Job{}, "no image"},
		{Job{Images: some(maxImages+1, 1)}, "17 images"},
		{Job{Images: some(3, maxTotal/3+1)}, "bytes together"},
		{Job{Images: some(1, 1), Prompt: strings.Repeat("x", maxPrompt+1)}, "prompt"},
	} {
		if err := test.job.Check(); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%d images: %v, want %q", len(test.job.Images), err, test.want)
		}
	}
	if clampTimeout(0) != 100*time.Millisecond || clampTimeout(time.Second) != time.Second || clampTimeout(2*time.Hour) != time.Hour {
		t.Error("the bounds of the time do not hold")
	}
}

func value(t *testing.T, text string) rpc.Value {
	t.Helper()
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func TestModels(t *testing.T) {
	models := readModels(value(t, `{"data":[
		{"id":"old","model":"old","inputModalities":["text"]},
		{"id":"a","model":"a-1","inputModalities":["text","image"]},
		{"id":"b","model":"b-1","inputModalities":["image"]},
		{"id":"none"}]}`))
	if diff := cmp.Diff([]Model{{"old", "old", false}, {"a", "a-1", true}, {"b", "b-1", true}, {ID: "none"}}, models); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	any := func(string) bool { return true }
	if got, err := defaultModel(models, any); got != "a-1" || err != nil {
		t.Error(got, err)
	}
	if got, err := defaultModel(models, func(name string) bool { return name != "a-1" }); got != "b-1" || err != nil {
		t.Error(got, err)
	}
	if got, err := defaultModel(models[:1], any); err == nil {
		t.Error(got)
	}
	for name, want := range map[string]string{"a": "", "a-1": "", "old": "takes no images", "x": "offers no model"} {
		if err := checkModel(models, name); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The user's MCP servers are disabled, whatever their names contain.
func TestThreadStartDisablesServers(t *testing.T) {
	raw, err := json.Marshal(Job{Model: "m"}.ThreadStart("/w", []string{"a.b"}))
	if err != nil {
		t.Fatal(err)
	}
	got := value(t, string(raw))
	if off := got.Get("config").Get("mcp_servers").Get("a.b").Get("enabled"); string(off.Raw()) != "false" {
		t.Errorf("%s", raw)
	}
	if value(t, string(raw)).Get("sandbox").Raw() == nil || !got.Get("sandbox").Is("read-only") || string(got.Get("ephemeral").Raw()) != "true" {
		t.Errorf("%s", raw)
	}
}
