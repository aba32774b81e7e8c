//go:build unix

package release_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// printer writes a script that plays Codex: it copies prepared schemas, with experimental methods if
// asked for them.
func printer(t *testing.T, files map[string]string) codex.Command {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := filepath.Join(dir, "codex")
	text := fmt.Sprintf(`#!/bin/sh
case "$*" in
--version) cat %[1]q/version ;;
"app-server generate-json-schema --experimental --out "*) cp -r %[1]q/full "$5" ;;
"app-server generate-json-schema --out "*) cp -r %[1]q/stable "$4" ;;
"features list") cat %[1]q/features ;;
"completion bash") cat %[1]q/completion ;;
*) echo "what is $*" >&2; exit 3 ;;
esac
`, dir)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return codex.Command{Path: script}
}

const (
	fullRequests = `{"oneOf": [
		{"properties": {"method": {"enum": ["b/two"]}, "params": {"$ref": "#/definitions/TwoParams"}}},
		{"properties": {"method": {"enum": ["a/one"]}, "params": {"anyOf": [{"$ref": "#/definitions/OneParams"}, {"type": "null"}]}}},
		{"properties": {"method": {"enum": ["c/none"]}, "params": {"type": "null"}}}],
	"definitions": {
		"Any": true,
		"OneParams": {"properties": {"y": true, "x": {"type": "string", "properties": {"inner": true}}}},
		"TwoParams": {"oneOf": [{"properties": {"p": true}}, {"properties": {"q": true}}, {"$ref": "#/definitions/TwoParams"}]}}}`
	stableRequests = `{"oneOf": [
		{"properties": {"method": {"enum": ["a/one"]}, "params": {"$ref": "#/definitions/OneParams"}}},
		{"properties": {"method": {"enum": ["c/none"]}}}],
	"definitions": {"OneParams": {"properties": {"x": true}}}}`
	notification  = `{"oneOf": [{"properties": {"method": {"enum": ["n"]}}}]}`
	serverRequest = `{"oneOf": [{"properties": {"method": {"enum": ["s/ask"]}, "params": {"$ref": "#/definitions/AskParams"}}}],
	"definitions": {"AskParams": {"properties": {"what": true}}}}`
)

func schemaFiles() map[string]string {
	files := map[string]string{"version": "codex-cli 7.8.9\n", "full/ClientRequest.json": fullRequests, "stable/ClientRequest.json": stableRequests}
	for _, dir := range []string{"full/", "stable/"} {
		files[dir+"ClientNotification.json"] = notification
		files[dir+"ServerNotification.json"] = notification
		files[dir+"ServerRequest.json"] = serverRequest
		files[dir+"AskResponse.json"] = `{"properties": {"answer": {"$ref": "#/definitions/Answer"}}, "definitions": {"Answer": {"properties": {"no": true}}}}`
	}
	return files
}

func TestLoadMethods(t *testing.T) {
	got, err := release.LoadMethods(t.Context(), printer(t, schemaFiles()), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want := &release.Release{Version: "7.8.9", Methods: map[methods.Side]map[string]release.MethodShape{
		methods.ClientRequest: {
			"a/one":  {Params: []string{"x", "y"}, ExperimentalParams: []string{"y"}},
			"b/two":  {Params: []string{"p", "q"}, Experimental: true},
			"c/none": {Params: []string{}},
		},
		methods.ClientNotification: {"n": {Params: []string{}}},
		methods.ServerRequest:      {"s/ask": {Params: []string{"what"}, Answer: []string{"answer"}}},
		methods.ServerNotification: {"n": {Params: []string{}}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a/one", "b/two", "c/none"}, got.Names(methods.ClientRequest)); diff != "" {
		t.Error(diff)
	}
}

// An unknown form of schema must be an error, and not a schema with fewer methods.
func TestLoadMethodsErrors(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"version", "hello\n", "expected a version"},
		{"full/ClientRequest.json", `{"oneOf": []}`, "names no method"},
		{"full/ClientRequest.json", `{"anyOf": [{}]}`, "names no method"},
		{"full/ClientRequest.json", `{"oneOf": [{"properties": {"method": {"const": "a"}}}]}`, "no single method name"},
		{"full/ClientRequest.json", `[`, "ClientRequest.json: unexpected end"},
		{"full/AskResponse.json", `7`, "AskResponse.json: json: cannot unmarshal"},
		{"stable/ServerNotification.json", `{}`, "names no method"},
	} {
		files := schemaFiles()
		files[c.file] = c.text
		if p, err := release.LoadMethods(t.Context(), printer(t, files), t.TempDir()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: %v, %v, want %q", c.file, c.text, p, err, c.want)
		}
	}
	files := schemaFiles()
	delete(files, "full/ServerRequest.json")
	if _, err := release.LoadMethods(t.Context(), printer(t, files), t.TempDir()); err == nil || !strings.Contains(err.Error(), "ServerRequest.json") {
		t.Errorf("without ServerRequest.json: %v", err)
	}
	c := printer(t, schemaFiles())
	c.Args = []string{"--before"}
	if _, err := release.LoadMethods(t.Context(), c, t.TempDir()); err == nil || !strings.Contains(err.Error(), "what is --before --version") {
		t.Errorf("a codex that fails: %v", err)
	}
}

// A Codex that does not end is killed with its context.
func TestLoadMethodsEndsWithContext(t *testing.T) {
	dir := t.TempDir()
	script, started := filepath.Join(dir, "codex"), filepath.Join(dir, "started")
	if err := unix.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\necho > %q\nexec sleep 600\n", started), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, _ = os.ReadFile(started) // until the script runs
		cancel()
	}()
	if _, err := release.LoadMethods(ctx, codex.Command{Path: script}, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was given up", err)
	}
}
