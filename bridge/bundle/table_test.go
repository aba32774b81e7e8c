package bundle_test

import (
	"os"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bundle"
)

// A newer table of Codex's methods comes with the bundle, renewals keep it, and a bundle without one ends it.
func TestTableOfBundle(t *testing.T) {
	p := newPublisher(t)
	table := func(text string) func(*bundle.Publication) {
		return func(o *bundle.Publication) {
			if text != "" {
				o.Table = []byte(text)
			}
		}
	}
	p.publish(text(1), table("one"))
	c := newClient(t, p, serve(p.files, nil))
	for _, step := range []struct {
		bundle, table string
		version       int64
		want          string
	}{
		{"", "", 1, "one"},
		{text(1), "one", 1, "one"},
		{text(1), "two", 2, "two"},
		{text(2), "", 3, ""},
		{text(2), "three", 4, "three"},
	} {
		if done := p.publish(step.bundle, table(step.table)); done.Version != step.version {
			t.Errorf("%+v: %+v", step, done)
		}
		pulled, err := c.Pull(t.Context(), 0)
		if err != nil || pulled.After.Table != step.want {
			t.Fatalf("%+v: %+v, %v", step, pulled.After, err)
		}
		if got, err := bundle.New(c.o).Load(); err != nil || got.Table != step.want {
			t.Errorf("%+v: from the file: %+v, %v", step, got, err)
		}
	}
	stored, err := os.ReadFile(c.File())
	if err != nil {
		t.Fatal(err)
	}
	for _, forged := range []string{
		strings.Replace(string(stored), `"table":"`, `"table":"QQ`, 1),
		strings.Replace(string(stored), `"table":"`, `"other":"`, 1),
	} {
		put(t, c.File(), []byte(forged))
		if got, err := bundle.New(c.o).Load(); err == nil || forged == string(stored) {
			t.Errorf("a forged table counts: %q", got.Table)
		}
	}
}
