//go:build unix

package release_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"

	"github.com/google/go-cmp/cmp"
)

const (
	bundle = `{"definitions": {
		"ClientRequest": {"oneOf": [
			{"properties": {"method": {"enum": ["a/one"]}, "params": {"anyOf": [{"$ref": "#/definitions/v2/OneParams"}, {"type": "null"}]}}}]},
		"ClientNotification": {"oneOf": [{"properties": {"method": {"enum": ["n"]}}}]},
		"ServerNotification": {"oneOf": [{"properties": {"method": {"enum": ["n"]}, "params": {"$ref": "#/definitions/v2/Sent"}}}]},
		"ServerRequest": {"oneOf": [{"properties": {"method": {"enum": ["s/ask"]}, "params": {"$ref": "#/definitions/AskParams"}}}]},
		"AskParams": {"properties": {"what": true}},
		"AskResponse": {"properties": {"answer": {"$ref": "#/definitions/v2/Answer"}}},
		"v2": {
			"OneParams": {"properties": {"x": {"items": {"$ref": "#/definitions/v2/Item"}}, "mode": {"enum": ["b", "a", null]}}},
			"Item": {"oneOf": [
				{"properties": {"type": {"enum": ["text"]}, "text": true}},
				{"properties": {"type": {"enum": ["image"]}, "of": {"$ref": "#/definitions/v2/Item"}}}]},
			"Answer": {"properties": {"scope": {"properties": {"inner": true}}}},
			"Asks": {"oneOf": [{"enum": ["never"]}, {"properties": {"granular": true}, "required": ["granular"], "additionalProperties": false}]},
			"NoStrings": {"oneOf": [{"properties": {"only": true}, "required": ["only"]}]},
			"HookEventName": {"enum": ["stop", "interrupt"]},
			"Sent": {"properties": {"s": true, "entry": {"$ref": "#/definitions/v2/Entry"}, "shared": {"$ref": "#/definitions/v2/Item"}}},
			"Entry": {"oneOf": [
				{"properties": {"type": {"enum": ["plan"]}, "steps": true}},
				{"properties": {"type": {"enum": ["reply"]}, "step": {"$ref": "#/definitions/v2/Step"}}}]},
			"Step": {"properties": {"title": true}},
			"OneResponse": {"properties": {"cursor": true}},
			"ConfigRequirements": {"properties": {"network": {"anyOf": [{"$ref": "#/definitions/v2/Network"}, {"type": "null"}]}}},
			"Network": {"properties": {"enabled": true, "self": {"additionalProperties": {"$ref": "#/definitions/v2/Network"}}}}}}}`
	features   = "hooks            stable             true\nnew_thing   under development  false\n"
	completion = `        case "${cmd},${i}" in
            ",$1")
                cmd="codex"
                ;;
            codex,a)
                cmd="codex__apply"
                ;;
            codex__app__server__daemon,start-up)
                cmd="codex__app__server__daemon__start__up"
                ;;
            codex__app__server,daemon)
                cmd="codex__app__server__daemon"
                ;;
            codex,app-server)
                cmd="codex__app__server"
                ;;
            codex,apply)
                cmd="codex__apply"
                ;;
            codex,exec)
                cmd="codex__exec"
                ;;
            codex,help)
                cmd="codex__help"
                ;;
            codex__help,apply)
                cmd="codex__help__apply"
                ;;
        esac
    case "${cmd}" in
        codex)
            opts="-c --config --yes [PROMPT] app-server help"
            case "${prev}" in
                --config)
                    return 0
                    ;;
                -c)
                    ;;
            esac
            ;;
        codex__app__server)
            opts="--listen daemon"
                --listen)
            ;;
        codex__apply)
            opts="-c -h --config --help --dry-run [TASK]"
                --config)
                -c)
            ;;
        codex__app__server__daemon)
            opts="-h --help"
            ;;
        codex__app__server__daemon__start__up)
            opts="-h --help --pid-file"
                --pid-file)
            ;;
        codex__exec)
            opts="--color"
                --color)
            ;;
        codex__help__apply)
            opts="--none"
`
)

// noTools is called only for a release whose models are read.
func noTools(context.Context, codex.Command, string, *release.Release) error {
	return errors.New("called")
}

func TestLoadRelease(t *testing.T) {
	files := schemaFiles()
	files["full/codex_app_server_protocol.schemas.json"], files["features"], files["completion"] = bundle, features, completion
	c := printer(t, files)
	got, err := release.Load(t.Context(), c, t.TempDir(), noTools)
	if err != nil {
		t.Fatal(err)
	}
	want := &release.Release{
		Version: "7.8.9",
		Methods: got.Methods, // see TestLoadMethods
		Types:   map[string][]string{"Item": {"of", "text", "type"}, "Answer": {"scope", "scope.inner"}},
		Enums: map[string][]string{
			"OneParams.mode": {"a", "b"}, "Item.type": {"image", "text"}, "Asks": {"granular", "never"},
			"HookEventName": {"interrupt", "stop"}, "Entry.type": {"plan", "reply"},
		},
		Requirements: map[string][]string{"ConfigRequirements": {"network"}, "Network": {"enabled", "self"}},
		Sent:         map[string][]string{"Entry plan": {"steps", "type"}, "Entry reply": {"step", "type"}, "Step": {"title"}, "OneResponse": {"cursor"}},
		Commands:     []string{"app-server", "app-server daemon", "app-server daemon start-up", "apply", "exec"},
		Flags:        map[string][]string{"codex": {"--config=", "--yes", "-c="}, "codex app-server": {"--listen="}, "codex exec": {"--color="}},
		CommandFlags: map[string][]string{"apply": {"--dry-run"}, "app-server daemon start-up": {"--pid-file="}},
		Features:     map[string]string{"hooks": "stable true", "new_thing": "under development false"},
		Unread: map[release.Part]string{
			release.PartConfigKeys: c.Path + " is not a Linux program, and none is beside it; the keys can be read from Codex for Linux only",
			release.PartModels:     got.Unread[release.PartModels],
			release.PartTools:      got.Unread[release.PartModels],
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(got.Unread[release.PartModels], "initialize") { // the script is no app-server
		t.Errorf("models: %q", got.Unread[release.PartModels])
	}

	got.DefaultModel, got.Models = "m-1", map[string]string{"m-1": "low of low high"}
	got.Tools = map[release.ModelKind]map[string][]string{release.DefaultModel: {"exec": {}}, release.DirectModel: {"run": {"cmd"}}}
	text, err := got.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var decoded release.Release
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	want.Features, want.Unread, want.ConfigKeys = nil, nil, []string{}
	want.DefaultModel, want.Models, want.Tools = got.DefaultModel, got.Models, got.Tools
	if diff := cmp.Diff(*want, decoded); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(text), "\n\"a/one\": {\"params\":[\"x\",\"y\"],\"experimentalParams\":[\"y\"]},\n") {
		t.Errorf("a method has not a line of its own:\n%s", text)
	}
}

// A part in an unknown form is missing with a reason, and the others are read. It must not look like a
// release with fewer names.
func TestLoadReleaseReportsUnreadParts(t *testing.T) {
	unread := func(files map[string]string) (*release.Release, map[release.Part]string) {
		t.Helper()
		got, err := release.Load(t.Context(), printer(t, files), t.TempDir(), noTools)
		if err != nil {
			t.Fatal(err)
		}
		return got, got.Unread
	}
	files := schemaFiles()
	files["full/codex_app_server_protocol.schemas.json"], files["features"], files["completion"] = `{"definitions": {}}`, "none\n", "complete -F _codex\n"
	got, reasons := unread(files)
	for part, want := range map[release.Part]string{
		release.PartTypes: "no type ConfigRequirements", release.PartFeatures: "names no feature", release.PartFlags: "no flags of codex",
		release.PartConfigKeys: "not a Linux program", release.PartModels: "initialize",
	} {
		if !strings.Contains(reasons[part], want) {
			t.Errorf("%s: %q, want %q", part, reasons[part], want)
		}
	}
	got.FillFrom(&release.Release{
		Enums: map[string][]string{"A": {"b"}}, Sent: map[string][]string{"B": {"c"}}, Flags: map[string][]string{"codex": {"-c"}},
		CommandFlags: map[string][]string{"apply": {"-x"}}, ConfigKeys: []string{"model"}, Models: map[string]string{"m": ""},
	})
	if len(got.Enums)*len(got.Sent)*len(got.Flags)*len(got.CommandFlags)*len(got.ConfigKeys)*len(got.Models) != 1 {
		t.Errorf("FillFrom: %v", got)
	}

	delete(files, "full/ServerRequest.json")
	files["features"], files["completion"] = features, completion
	got, reasons = unread(files)
	for _, part := range []release.Part{release.PartMethods, release.PartTypes} {
		if !strings.Contains(reasons[part], "ServerRequest.json") {
			t.Errorf("%s: %q", part, reasons[part])
		}
	}
	if len(got.Features) != 2 || len(got.Commands) != 5 {
		t.Errorf("without methods the others are not read: %v", got)
	}
	got.FillFrom(&release.Release{Methods: map[methods.Side]map[string]release.MethodShape{methods.ClientRequest: {}}})
	if len(got.Methods) != 1 {
		t.Errorf("FillFrom: %v", got)
	}
}

// A context that ends names the part that was read, and leaves no folder.
func TestLoadReleaseNamesThePartThatItWaitedFor(t *testing.T) {
	for part, call := range map[release.Part]string{
		release.PartMethods: "app-server generate-json-schema", release.PartFeatures: "features list", release.PartFlags: "completion bash",
	} {
		t.Run(string(part), func(t *testing.T) {
			temp := t.TempDir()
			t.Setenv("TMPDIR", temp)
			files := schemaFiles()
			files["full/codex_app_server_protocol.schemas.json"], files["features"], files["completion"] = bundle, features, completion
			c := printer(t, files)
			waits := filepath.Join(t.TempDir(), "waits")
			text, err := os.ReadFile(c.Path)
			if err != nil {
				t.Fatal(err)
			}
			hang := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in %q*) touch %q; exec sleep 600 ;; esac\n", call, waits)
			if err := os.WriteFile(c.Path, append([]byte(hang), text...), 0o700); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancelCause(t.Context())
			go func() {
				for ctx.Err() == nil {
					if _, err := os.Stat(waits); err == nil {
						stop(errors.New("the machine goes down"))
					}
					time.Sleep(time.Millisecond)
				}
			}()
			_, err = release.Load(ctx, c, t.TempDir(), noTools)
			if want := "stopped while Codex described its " + string(part) + ": the machine goes down"; err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// A part that takes too long is missing with a reason, and the error of its end is not in it.
func TestPartHasATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &release.Release{Unread: make(map[release.Part]string)}
		start := time.Now()
		err := release.ReadPart(r, t.Context(), release.PartFlags, func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if err != nil || r.Unread[release.PartFlags] != "Codex took longer than 1m0s" || time.Since(start) != time.Minute {
			t.Errorf("%v, %v after %s", err, r.Unread, time.Since(start))
		}
	})
}
