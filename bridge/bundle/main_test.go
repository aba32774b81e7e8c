package bundle_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/bundle"

	"github.com/theupdateframework/go-tuf/v2/metadata"
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(pullerEnv); folder != "" {
		os.Exit(pullForever(folder))
	}
	if _, err := os.Stat("/dev/shm"); err == nil { // each pull syncs its file
		if err := os.Setenv("TMPDIR", "/dev/shm"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// start is the time of the tests.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const hour = time.Hour

// expiry is that of the command.
var expiry = map[string]time.Duration{"root": 8760 * hour, "targets": 2160 * hour, "snapshot": 2160 * hour, "timestamp": 168 * hour}

// publisher publishes into a folder.
type publisher struct {
	t            testing.TB
	folder, keys string
	root         *bundle.Key
	online       []*bundle.Key
	now          time.Time
}

func newPublisher(t testing.TB) *publisher {
	t.Helper()
	p := &publisher{t: t, folder: filepath.Join(t.TempDir(), "repo"), keys: t.TempDir(), now: start}
	p.root, p.online = p.key("root.key"), []*bundle.Key{p.key("policy.key")}
	return p
}

// key returns a key, which it makes if it is missing.
func (p *publisher) key(name string) *bundle.Key {
	p.t.Helper()
	key, _, err := bundle.ReadOrNewKey(filepath.Join(p.keys, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return key
}

// try publishes a text; "" renews.
func (p *publisher) try(text string, change func(*bundle.Publication)) (bundle.Published, error) {
	o := bundle.Publication{RootKey: p.root, Keys: p.online, Expiry: expiry, Now: p.now}
	if text != "" {
		o.Bundle = []byte(text)
	}
	if change != nil {
		change(&o)
	}
	return bundle.Publish(p.folder, o)
}

func (p *publisher) publish(text string, change func(*bundle.Publication)) bundle.Published {
	p.t.Helper()
	done, err := p.try(text, change)
	if err != nil {
		p.t.Fatal(err)
	}
	return done
}

// rotate returns a change that gives a role another key.
func rotate(role string, key *bundle.Key) func(*bundle.Publication) {
	return func(o *bundle.Publication) { o.Rotate = map[string][]*bundle.Key{role: {key}} }
}

// files returns the files of the repository.
func (p *publisher) files() map[string][]byte {
	p.t.Helper()
	all := make(map[string][]byte)
	err := filepath.WalkDir(p.folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".lock" {
			return err
		}
		text, err := os.ReadFile(path)
		all[filepath.ToSlash(path[len(p.folder)+1:])] = text
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

// serve returns a Fetch of files, which change may change.
func serve(files func() map[string][]byte, change func(name string, text []byte, err error) ([]byte, error)) bundle.Fetch {
	return func(ctx context.Context, address string, maxLen int64) ([]byte, error) {
		name := strings.TrimPrefix(address, testURL)
		text, ok := files()[name]
		var err error
		if !ok {
			err = &metadata.ErrDownloadHTTP{StatusCode: http.StatusNotFound, URL: address}
		}
		if change != nil {
			text, err = change(name, text, err)
		}
		if err == nil && int64(len(text)) > maxLen {
			err = errors.New("too long")
		}
		return text, errors.Join(err, ctx.Err())
	}
}

const testURL = "https://policy.example.com/repo/"

// client has a client, whose folder outlives it.
type client struct {
	*bundle.Client
	o   bundle.Options
	now time.Time
}

func newClient(t testing.TB, p *publisher, fetch bundle.Fetch) *client {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root.json")
	if err := os.WriteFile(root, p.files()["1.root.json"], 0o600); err != nil {
		t.Fatal(err)
	}
	c := &client{now: p.now}
	c.o = bundle.Options{
		URL: testURL, Root: root, Folder: filepath.Join(t.TempDir(), "client"), Fetch: fetch,
		Check: func(*bundle.Content) error { return nil }, Now: func() time.Time { return c.now },
	}
	c.restart()
	return c
}

// restart forgets what the process knows.
func (c *client) restart() { c.Client = bundle.New(c.o) }

// want checks that a pull gets a version, and that the client then has it, also after a restart.
func (c *client) want(t testing.TB, version int64, text string) {
	t.Helper()
	p, err := c.Pull(t.Context(), 0)
	if err != nil {
		t.Fatalf("version %d: %v", version, err)
	}
	if p.After.Version != version || p.After.Text != text {
		t.Fatalf("a pull got version %d %q, want %d %q", p.After.Version, p.After.Text, version, text)
	}
	c.has(t, version)
	c.restart()
	c.has(t, version)
}

func (c *client) has(t testing.TB, version int64) {
	t.Helper()
	got, err := c.Load()
	if err != nil {
		t.Fatalf("version %d: %v", version, err)
	}
	if got.Version != version {
		t.Fatalf("version %d is in force, want %d", got.Version, version)
	}
}

func text(n int) string { return fmt.Sprintf("[policy]\n# %d\n", n) }
