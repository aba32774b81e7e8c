package bundle_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/bundle"

	"github.com/fsnotify/fsnotify"
)

// A client gets the published bundle, keeps it offline, and names its signers.
func TestPullGetsWhatWasPublished(t *testing.T) {
	p := newPublisher(t)
	if done := p.publish(text(1), nil); !done.New || !done.Changed || done.Version != 1 || len(done.Signed) != 4 {
		t.Errorf("%+v", done)
	}
	c := newClient(t, p, serve(p.files, nil))
	if _, err := c.Load(); !errors.Is(err, bundle.ErrNone) {
		t.Errorf("before the first pull: %v", err)
	}
	c.want(t, 1, text(1))
	got, err := c.Load()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Signers, []string{p.online[0].ID}) || !got.Expires.Equal(start.Add(expiry["timestamp"])) || !got.Refreshed.Equal(start) || got.Name() != "bundle v1 policy.toml" {
		t.Errorf("%+v", got)
	}
	if done := p.publish(text(2), nil); done.New || !done.Changed || done.Version != 2 || len(done.Signed) != 3 {
		t.Errorf("%+v", done)
	}
	c.want(t, 2, text(2))
	p.now = start.Add(hour)
	if done := p.publish("", nil); done.Changed || done.Version != 2 || len(done.Signed) != 1 {
		t.Errorf("%+v", done)
	}
	c.now = start.Add(2 * hour)
	c.want(t, 2, text(2))
	if got, err = c.Load(); err != nil || !got.Refreshed.Equal(c.now) {
		t.Errorf("%+v, %v", got, err)
	}
	pulled, err := c.Pull(t.Context(), 2*hour)
	if err != nil || pulled.Asked {
		t.Errorf("a second pull asks, too: %+v, %v", pulled, err)
	}
}

// Expired metadata end no bundle. A pull fails, until the publisher renews.
func TestExpiredMetadataKeepTheBundle(t *testing.T) {
	p := newPublisher(t)
	p.publish(text(1), nil)
	c := newClient(t, p, serve(p.files, nil))
	c.want(t, 1, text(1))
	c.now = start.Add(10 * 365 * 24 * hour)
	c.restart()
	c.has(t, 1)
	if _, err := c.Pull(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("the pull of expired metadata: %v", err)
	}
	if a, ok := c.LastAttempt(); !ok || !strings.Contains(a.Error, "expired") || !a.At.Equal(c.now) {
		t.Errorf("the attempt is recorded as %+v", a)
	}
	c.has(t, 1)
	p.now = c.now
	p.publish(text(2), nil)
	c.want(t, 2, text(2))
}

// A process that writes the client's folder can't invent a bundle, nor a newer refresh than was signed.
func TestForgedStateDoesNotCount(t *testing.T) {
	p := newPublisher(t)
	p.publish(text(1), nil)
	c := newClient(t, p, serve(p.files, nil))
	c.want(t, 1, text(1))
	old, err := os.ReadFile(c.File())
	if err != nil {
		t.Fatal(err)
	}
	p.publish(text(2), nil)
	c.want(t, 2, text(2))
	good, err := os.ReadFile(c.File())
	if err != nil {
		t.Fatal(err)
	}
	other := newPublisher(t)
	other.publish(text(9), nil)
	d := newClient(t, other, serve(other.files, nil))
	d.want(t, 1, text(9))
	foreign, err := os.ReadFile(d.File())
	if err != nil {
		t.Fatal(err)
	}
	for name, forged := range map[string]string{
		"a later refresh":    strings.Replace(string(good), `"refreshed":"2026-`, `"refreshed":"2028-`, 1),
		"an early refresh":   strings.Replace(string(good), `"bundle":"W`, `"bundle":"X`, 1),
		"another repository": string(foreign),
		"empty":              "", "null": "null", "an empty object": "{}",
		"half": string(good[:len(good)/2]),
	} {
		if forged == string(good) {
			t.Fatalf("%s: nothing is changed", name)
		}
		if err := os.WriteFile(c.File(), []byte(forged), 0o600); err != nil {
			t.Fatal(err)
		}
		c.has(t, 2) // this process has seen it
		fresh := bundle.New(c.o)
		if got, err := fresh.Load(); err == nil {
			t.Errorf("%s: version %d counts", name, got.Version)
		}
	}
	if err := os.WriteFile(c.File(), old, 0o600); err != nil {
		t.Fatal(err)
	}
	c.has(t, 2) // an older one that was signed
	if err := os.Remove(c.File()); err != nil {
		t.Fatal(err)
	}
	c.has(t, 2)
	c.want(t, 2, text(2))
	// The trusted root is half written, then gone, then another one.
	root, err := os.ReadFile(c.o.Root)
	if err != nil {
		t.Fatal(err)
	}
	put(t, c.o.Root, root[:len(root)/2])
	c.has(t, 2)
	if err := os.Remove(c.o.Root); err != nil {
		t.Fatal(err)
	}
	c.has(t, 2)
	put(t, c.o.Root, other.files()["root.json"])
	if got, err := c.Load(); err == nil {
		t.Errorf("version %d counts under another root", got.Version)
	}
}

// Each role gets another key, also the root. Clients follow, also from the first root on; the old keys no
// longer count.
func TestRotation(t *testing.T) {
	p := newPublisher(t)
	p.publish(text(1), nil)
	c := newClient(t, p, serve(p.files, nil))
	late := newClient(t, p, serve(p.files, nil))
	c.want(t, 1, text(1))
	for i, role := range []string{"timestamp", "snapshot", "targets", "root"} {
		fresh := p.key(role + "-2.key")
		p.publish(text(i+2), rotate(role, fresh))
		if role == "root" {
			if _, err := p.try(text(9), rotate("timestamp", p.key("x.key"))); err == nil || !strings.Contains(err.Error(), "--root-key") {
				t.Errorf("the old root key still counts: %v", err)
			}
			p.root = fresh
		} else {
			p.online = append(p.online, fresh)
		}
		c.want(t, int64(i+2), text(i+2))
	}
	if _, err := p.try(text(9), func(o *bundle.Publication) { o.Keys = o.Keys[:1] }); err == nil || !strings.Contains(err.Error(), "the role targets needs the key") {
		t.Errorf("the first key still counts: %v", err)
	}
	p.publish("", func(o *bundle.Publication) { o.Keys, o.RootKey = []*bundle.Key{p.key("timestamp-2.key")}, nil })
	late.want(t, 5, text(5))
	got, err := late.Load()
	if err != nil || got.RootVersion != 5 || !slices.Equal(got.Signers, []string{p.key("targets-2.key").ID}) {
		t.Errorf("%+v, %v", got, err)
	}
	// The operator distributes a newer root.
	if err := os.WriteFile(c.o.Root, p.files()["root.json"], 0o600); err != nil {
		t.Fatal(err)
	}
	c.has(t, 5)
	c.want(t, 5, text(5))
}

// While keys are exchanged, a client that reads between any two writes gets the old bundle or the new one. A
// publisher that ends between them publishes again.
func TestInterruptedPublication(t *testing.T) {
	for _, role := range []string{"", "timestamp", "snapshot", "targets", "root"} {
		for _, lost := range []bool{false, true} { // whether the old key is lost
			if lost && (role == "" || role == "root") {
				continue
			}
			p := newPublisher(t)
			p.publish(text(1), nil)
			p.publish(text(2), rotate("timestamp", p.key("own.key")))
			p.online = append(p.online, p.key("own.key"))
			p.publish(text(3), rotate("snapshot", p.key("snap.key")))
			p.online = append(p.online, p.key("snap.key"))
			before := p.files()
			change := func(o *bundle.Publication) {
				if role == "" {
					return
				}
				rotate(role, p.key("fresh.key"))(o)
				if lost {
					i := map[string]int{"targets": 0, "timestamp": 1, "snapshot": 2}[role]
					o.Keys = slices.Delete(slices.Clone(o.Keys), i, i+1)
				}
			}
			order := written(t, p, func() { p.publish(text(4), change) })
			after := p.files()
			state := make(map[string][]byte)
			for name, content := range before {
				state[name] = content
			}
			for _, name := range append([]string{""}, order...) {
				if name != "" {
					state[name] = after[name]
				}
				for _, known := range []bool{false, true} {
					c := newClient(t, p, serve(func() map[string][]byte { return before }, nil))
					if known {
						c.want(t, 3, text(3))
					}
					c.o.Fetch = serve(func() map[string][]byte { return state }, nil)
					c.restart()
					pulled, err := c.Pull(t.Context(), 0)
					switch {
					case err != nil && !lost:
						t.Fatalf("%s: after %s: %v", role, name, err)
					case err == nil && pulled.After.Text != text(int(pulled.After.Version)):
						t.Fatalf("%s: after %s: %+v", role, name, pulled.After)
					case err != nil && known:
						c.has(t, 3)
					}
				}
				again := &publisher{t: t, folder: filepath.Join(t.TempDir(), "repo"), keys: p.keys, root: p.root, online: append(slices.Clone(p.online), p.key("fresh.key")), now: p.now}
				for file, content := range state {
					put(t, filepath.Join(again.folder, file), content)
				}
				if role == "root" && state["4.root.json"] != nil {
					again.root = p.key("fresh.key")
				}
				again.publish(text(5), nil)
				c := newClient(t, again, serve(again.files, nil))
				if _, err := c.Pull(t.Context(), 0); err != nil {
					t.Fatalf("%s: published again after %s: %v", role, name, err)
				}
			}
		}
	}
}

// written returns the files that a publication writes, in their order.
func written(t *testing.T, p *publisher, publish func()) (order []string) {
	t.Helper()
	w, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := errors.Join(w.Add(p.folder), w.Add(filepath.Join(p.folder, "targets"))); err != nil {
		t.Fatal(err)
	}
	go func() {
		publish()
		put(t, filepath.Join(p.folder, ".end"), nil)
	}()
	for e := range w.Events {
		name := filepath.ToSlash(e.Name[len(p.folder)+1:])
		if name == ".end" {
			return order
		}
		if e.Has(fsnotify.Create) && !strings.HasPrefix(filepath.Base(name), ".") {
			order = append(order, name)
		}
	}
	return order
}

func put(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// A publication that clients would refuse writes nothing.
func TestRefusedPublication(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*publisher, *bundle.Publication)
		want   string
	}{
		"another key": {func(p *publisher, o *bundle.Publication) { o.Keys = []*bundle.Key{p.key("other.key")} }, "needs the key"},
		"no key":      {func(_ *publisher, o *bundle.Publication) { o.Keys = nil }, "needs the key"},
		"no root key": {func(p *publisher, o *bundle.Publication) { rotate("targets", p.key("new.key"))(o); o.RootKey = nil }, "--root-key"},
		"another root key": {func(p *publisher, o *bundle.Publication) {
			rotate("targets", p.key("new.key"))(o)
			o.RootKey = p.key("other.key")
		}, "needs the key"},
		"the root key for others": {func(p *publisher, o *bundle.Publication) { rotate("targets", p.root)(o) }, "root key can't be"},
		"an expired root": {func(_ *publisher, o *bundle.Publication) {
			o.RootKey, o.Now = nil, start.Add(3*8760*hour)
		}, "root.json is expired"},
		"too large": {func(_ *publisher, o *bundle.Publication) { o.Bundle = []byte(strings.Repeat("#", 300<<10)) }, "more than"},
	} {
		p := newPublisher(t)
		p.publish(text(1), nil)
		before := p.files()
		if _, err := p.try(text(2), func(o *bundle.Publication) { test.change(p, o) }); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		for file, content := range p.files() {
			if string(before[file]) != string(content) {
				t.Errorf("%s: %s was written", name, file)
			}
		}
	}
	p := newPublisher(t)
	for name, change := range map[string]func(*bundle.Publication){
		"no bundle":   func(o *bundle.Publication) { o.Bundle = nil },
		"no root key": func(o *bundle.Publication) { o.RootKey = nil },
		"one key":     func(o *bundle.Publication) { o.RootKey = o.Keys[0] },
	} {
		if _, err := p.try(text(1), change); err == nil {
			t.Errorf("a new repository with %s", name)
		}
	}
	// The web server was broken into: what no key has signed is not signed on.
	p.publish(text(1), nil)
	name := filepath.Join(p.folder, "timestamp.json")
	stamp, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	put(t, name, []byte(strings.Replace(string(stamp), `"version": 1`, `"version": 99999`, 2)))
	if _, err := p.try(text(2), nil); err == nil || !strings.Contains(err.Error(), "not signed by the keys") {
		t.Errorf("a forged timestamp: %v", err)
	}
}

// Key files are private, and are not overwritten.
func TestKeyFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.key")
	made, err := bundle.NewKey(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.NewKey(name); !errors.Is(err, os.ErrExist) {
		t.Errorf("the key was overwritten: %v", err)
	}
	read, isNew, err := bundle.ReadOrNewKey(name)
	if err != nil || isNew || read.ID != made.ID {
		t.Errorf("%+v, %v, %v; want %s", read, isNew, err, made.ID)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.Chmod(name, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.ReadKey(name); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
}

// A bundle that this program can't use does not replace one that it can.
func TestUnusableBundleIsNotTaken(t *testing.T) {
	p := newPublisher(t)
	p.publish(text(1), nil)
	c := newClient(t, p, serve(p.files, nil))
	c.want(t, 1, text(1))
	p.publish(text(2), nil)
	c.o.Check = func(b *bundle.Content) error { return errors.New(b.Name() + " does not load") }
	c.restart()
	if _, err := c.Pull(t.Context(), 0); err == nil || err.Error() != "bundle v2 policy.toml does not load" {
		t.Error(err)
	}
	c.has(t, 1)
}

// Files come from https and file addresses, bounded in size and time; redirects lead to no other server.
func TestFetch(t *testing.T) {
	p := newPublisher(t)
	p.publish(text(1), nil)
	c := newClient(t, p, nil)
	c.o.URL = "file://" + filepath.ToSlash(p.folder)
	c.restart()
	c.want(t, 1, text(1))

	var answer http.HandlerFunc
	files := http.FileServer(http.Dir(p.folder))
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer == nil {
			files.ServeHTTP(w, r)
			return
		}
		answer(w, r)
	}))
	defer server.Close()
	elsewhere := httptest.NewTLSServer(files)
	defer elsewhere.Close()
	inherited := http.DefaultTransport
	http.DefaultTransport = server.Client().Transport
	defer func() { http.DefaultTransport = inherited }()
	web := newClient(t, p, nil)
	web.o.URL = server.URL
	web.restart()
	web.want(t, 1, text(1))
	p.publish(text(2), nil)
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"another server": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
		}, "redirects to " + elsewhere.URL},
		"another scheme": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+r.Host+r.URL.Path, http.StatusFound)
		}, "redirects to http://"},
		"in a circle":     {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "too often"},
		"an error":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "2.root.json: HTTP status 502"},
		"without an end":  {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, endless{}) }, "more than"},
		"without a start": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "deadline exceeded"},
	} {
		answer = test.answer
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if _, err := web.Pull(ctx, 0); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		web.has(t, 1)
	}
	// Object stores say 403 for a root that does not exist.
	answer = func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".root.json") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	}
	web.want(t, 2, text(2))
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }
