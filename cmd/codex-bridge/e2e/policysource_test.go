//go:build linux

package e2e_test

import (
	"encoding/pem"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// publisher publishes bundles for a world.
type publisher struct{ *world }

// publish publishes rules that deny touching files of these names.
func (p publisher) publish(names ...string) {
	p.t.Helper()
	text := "[policy]\napproval = [\"untrusted\", \"on-request\"]\n"
	for _, name := range names {
		text += "[[policy.rule]]\ncommand = \"touch " + name + "\"\ndecision = \"deny\"\nreason = \"The team says no.\"\n"
	}
	p.write("team/policy.toml", text)
	if _, problems, code := p.runCommand("policy", "publish", "--repo", p.root+"/public", "--root-key", p.root+"/root.key", "--key", p.root+"/policy.key",
		"--new-keys", p.root+"/team"); code != 0 {
		p.t.Fatalf("policy publish exits with %d: %s", code, problems)
	}
	if !p.hasFile("root.json") {
		p.write("root.json", p.read("public/root.json"))
	}
}

// ruin replaces the files of the repository.
func (p publisher) ruin(content string) {
	p.t.Helper()
	err := filepath.WalkDir(filepath.Join(p.root, "public"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.WriteFile(path, []byte(content), 0o600)
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// wantTouch checks whether a command of a thread can touch a file.
func (a *acceptingEditor) wantTouch(thread, name string, want bool) {
	a.t.Helper()
	a.turn(thread, "RUN: touch "+name)
	if a.hasFile("workspace/"+name) != want {
		a.t.Errorf("touch %s: ran %t, want %t; the model got %q", name, !want, want, a.world.lastToolOutput())
	}
}

// sourceConfig names a world's repository.
func sourceConfig(url, more string) string {
	return "[policy_source]\nurl = \"" + url + "\"\nroot = \"root.json\"\nrefresh = \"1s\"\n" + more
}

var threadSettings = map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}

// A rule of a bundle holds, a new bundle tightens open threads without a restart, and a server that sends
// garbage loosens nothing. Without the source, the same commands run.
func TestPolicySource(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"a file share", "a web server", "none"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			certificate := filepath.Join(t.TempDir(), "ca.pem")
			w := newWorld(t, options{env: []string{"SSL_CERT_FILE=" + certificate}, mute: "the configuration changes"})
			p := publisher{w}
			p.publish("denied")
			url := "file://" + w.root + "/public"
			if kind == "a web server" {
				server := httptest.NewTLSServer(http.FileServer(http.Dir(w.root + "/public")))
				t.Cleanup(server.Close)
				text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
				if err := os.WriteFile(certificate, text, 0o600); err != nil {
					t.Fatal(err)
				}
				url = server.URL
			}
			config := sourceConfig(url, "")
			if kind == "none" {
				config = "[policy]\n"
			}
			w.env = append(w.env, "CODEX_BRIDGE_CONFIG="+w.write("config.toml", config))
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(threadSettings)
			if kind == "none" {
				a.wantTouch(thread, "denied", true)
				a.closeAndWait()
				return
			}
			a.wantTouch(thread, "denied", false)
			if output := w.lastToolOutput(); !strings.Contains(output, "The team says no") || !strings.Contains(output, "bundle v1 policy.toml:3") {
				t.Errorf("the model got %q", output)
			}
			a.wantTouch(thread, "later", true)
			must(t, os.Remove(w.workspace+"/later"))
			changed := func(text string, n int) {
				t.Helper()
				if _, err := a.WaitStderr(a.ctx, func(all string) bool { return strings.Count(all, text) >= n }); err != nil {
					t.Fatal(err)
				}
			}
			p.publish("denied", "later")
			changed("still checked against the policies", 1)
			a.wantTouch(thread, "later", false)
			p.publish("later")
			changed("still checked against the policies", 2)
			a.wantTouch(thread, "denied", false) // the thread is open
			fresh := a.thread(threadSettings)
			a.wantTouch(fresh, "denied", true)
			must(t, os.Remove(w.workspace+"/denied"))
			p.ruin("<html>Sign in</html>")
			changed("can't be refreshed", 1)
			a.wantTouch(fresh, "later", false)
			out, _, code := w.runCommand("policy", "status")
			if code != 0 || !strings.Contains(out, "bundle v3 of ") || !strings.Contains(out, "the last pull") {
				t.Errorf("policy status exits with %d: %s", code, out)
			}
			a.closeAndWait()
			b := w.newAcceptingEditor(proxyArgv...) // offline
			b.wantTouch(b.thread(threadSettings), "later", false)
			b.closeAndWait()
		})
	}
}

// Without a bundle the bridge starts, and opens no thread until one is there. Other commands of Codex do not run.
func TestNoBundleYet(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{mute: "the configuration changes"})
	w.env = append(w.env, "CODEX_BRIDGE_CONFIG="+w.write("config.toml", sourceConfig("file://"+w.root+"/public", "")))
	a := w.newAcceptingEditor(proxyArgv...)
	a.must("model/list", map[string]any{})
	if err := a.mustFail("thread/start", threadSettings); err.Code != -32010 || !strings.Contains(err.Message, "no bundle of policy from file://"+w.root+"/public counts") ||
		!strings.Contains(err.Message, `see "codex-bridge policy status"`) {
		t.Error(err)
	}
	if err := a.mustFail("command/exec", map[string]any{"command": []string{"touch", "made"}}); !strings.Contains(err.Message, "no bundle of policy") || w.hasFile("workspace/made") {
		t.Error(err)
	}
	if _, problems, code := w.runCommand("exec", "hello"); code != 2 || !strings.Contains(problems, "no bundle of policy") {
		t.Errorf("exec exits with %d: %s", code, problems)
	}
	publisher{w}.publish("denied")
	for {
		if _, err := a.Call(a.ctx, "thread/start", threadSettings); err == nil {
			break
		} else if !strings.Contains(err.Error(), "no bundle of policy") {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	a.wantTouch(a.thread(threadSettings), "denied", false)
	a.closeAndWait()
}

// A stale bundle stops threads if the configuration says so; they go on when it is confirmed again. With "keep"
// they go on meanwhile.
func TestStaleBundle(t *testing.T) {
	t.Parallel()
	for _, onStale := range []string{"deny", "keep"} {
		t.Run(onStale, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{mute: "the configuration changes"})
			p := publisher{w}
			p.publish("denied")
			w.env = append(w.env, "CODEX_BRIDGE_CONFIG="+w.write("config.toml", sourceConfig("file://"+w.root+"/public", "max_age = \"4s\"\non_stale = \""+onStale+"\"\n")))
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(threadSettings)
			a.wantTouch(thread, "first", true)
			must(t, os.Rename(w.root+"/public", w.root+"/away"))
			stale := func() bool {
				_, _, code := w.runCommand("policy", "status")
				return code == 1
			}
			a.waitUntil("the bundle is not stale", stale)
			if onStale == "keep" {
				a.wantTouch(a.thread(threadSettings), "kept", true)
				a.wantTouch(thread, "denied", false)
				a.closeAndWait()
				return
			}
			a.waitUntil("threads still open", func() bool {
				_, err := a.Call(a.ctx, "thread/start", threadSettings)
				return err != nil && strings.Contains(err.Error(), "is stale: it was last confirmed at")
			})
			if err := a.mustFail("turn/start", map[string]any{"threadId": thread, "input": []any{}}); !strings.Contains(err.Message, "is stale") {
				t.Error(err)
			}
			must(t, os.Rename(w.root+"/away", w.root+"/public"))
			a.waitUntil("threads do not open again", func() bool {
				_, err := a.Call(a.ctx, "thread/start", threadSettings)
				return err == nil
			})
			a.wantTouch(thread, "again", true)
			a.wantTouch(thread, "denied", false)
			a.closeAndWait()
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
