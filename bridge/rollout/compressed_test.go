package rollout_test

import (
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"codex-bridge.example/bridge/rollout"
)

// compress replaces a file by its compressed form, of which only the first part of the bytes is left.
func compress(t *testing.T, path string, part float64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	packed := encoder.EncodeAll(text, nil)
	if err := os.WriteFile(path+".zst", packed[:int(float64(len(packed))*part)], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// A compressed file is read like the plain one, by either of its names.
func TestCompressedFileIsRead(t *testing.T) {
	const id = "01900000-0000-7000-8000-00000000000a"
	meta := `{"type":"session_meta","payload":{"id":"` + id + `","cwd":"/opened","dynamic_tools":[{}]}}` + "\n"
	turn := `{"type":"turn_context","payload":{"turn_id":"u","cwd":"/last"}}` + "\n"
	item := `{"type":"response_item","payload":{"type":"message","role":"user"}}` + "\n"
	filler := func(size int) string {
		return `{"type":"event_msg","payload":{"text":"` + strings.Repeat("x", size) + `"}}` + "\n"
	}
	for name, test := range map[string]struct {
		text  string
		part  float64
		fails bool
	}{
		"short":            {meta + turn + item, 1, false},
		"long":             {meta + strings.Repeat(filler(1<<20), 9) + turn + item, 1, false},
		"turn in the head": {meta + turn + item + strings.Repeat(filler(1<<20), 9), 1, false},
		"long first line":  {strings.Replace(meta, "{", `{"x":"`+strings.Repeat("x", 2<<20)+`",`, 1) + turn + item, 1, false},
		"cut":              {meta + turn + item, 0.5, true},
		"empty":            {meta + turn + item, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			home, path := write(t, test.text)
			compress(t, path, test.part)
			for _, path := range []string{path, path + ".zst"} {
				opened, last, err := folders(t, home, path, id)
				if (err != nil) != test.fails || !test.fails && (opened != "/opened" || last != "/last") {
					t.Errorf("got %q, %q and %v", opened, last, err)
				}
				tools, err := rollout.DynamicTools(home, path)
				if (err != nil) != test.fails || !test.fails && string(tools) != "[{}]" {
					t.Errorf("got the tools %s and %v", tools, err)
				}
				items, err := rollout.History(home, path)
				if !test.fails && (err != nil || len(items) != 1) {
					t.Errorf("got %d items and %v", len(items), err)
				}
			}
		})
	}
}

// A first line longer than the limit is not read.
func TestFirstLineHasALimit(t *testing.T) {
	const id = "01900000-0000-7000-8000-00000000000a"
	home, path := write(t, `{"x":"`+strings.Repeat("x", 64<<20)+`","type":"session_meta","payload":{"id":"`+id+`","cwd":"/opened"}}`+"\n")
	if opened, err := rollout.OpenedFolder(home, path, id); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("got %q and %v", opened, err)
	}
}
