//go:build unix

package codex_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/codex"

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
			"Sent": {"properties": {"s": true}},
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
        codex__exec)
            opts="--color"
                --color)
`
)

func TestLoadRelease(t *testing.T) {
	files := schemaFiles()
	files["full/codex_app_server_protocol.schemas.json"], files["features"], files["completion"] = bundle, features, completion
	c := printer(t, files)
	got, err := codex.LoadRelease(t.Context(), c, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want := &codex.Release{
		Version: "7.8.9",
		Methods: got.Methods, // see TestLoadMethods
		Types:   map[string][]string{"Item": {"of", "text", "type"}, "Answer": {"scope", "scope.inner"}},
		Enums: map[string][]string{
			"OneParams.mode": {"a", "b"}, "Item.type": {"image", "text"}, "Asks": {"granular", "never"},
			"HookEventName": {"interrupt", "stop"},
		},
		Requirements: map[string][]string{"ConfigRequirements": {"network"}, "Network": {"enabled", "self"}},
		Commands:     []string{"app-server", "app-server daemon", "app-server daemon start-up", "apply"},
		Flags:        map[string][]string{"codex": {"--config=", "--yes", "-c="}, "codex app-server": {"--listen="}, "codex exec": {"--color="}},
		Features:     map[string]string{"hooks": "stable true", "new_thing": "under development false"},
		Unread:       map[codex.Part]string{codex.PartConfigKeys: c.Path + " is not a Linux program, and none is beside it; the keys can be read from Codex for Linux only"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	text, err := got.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var decoded codex.Release
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	want.Features, want.Unread, want.ConfigKeys = nil, nil, []string{}
	if diff := cmp.Diff(*want, decoded); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(text), "\n\"a/one\": {\"params\":[\"x\",\"y\"],\"experimentalParams\":[\"y\"]},\n") {
		t.Errorf("a method has not a line of its own:\n%s", text)
	}
}

// A part in an unknown form is missing with a reason. It must not look like a release with fewer
// names.
func TestLoadReleaseReportsUnreadParts(t *testing.T) {
	files := schemaFiles()
	files["full/codex_app_server_protocol.schemas.json"], files["features"], files["completion"] = `{"definitions": {}}`, "none\n", "complete -F _codex\n"
	got, err := codex.LoadRelease(t.Context(), printer(t, files), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for part, want := range map[codex.Part]string{
		codex.PartTypes: "no type ConfigRequirements", codex.PartFeatures: "names no feature", codex.PartFlags: "no flags of codex",
		codex.PartConfigKeys: "not a Linux program",
	} {
		if !strings.Contains(got.Unread[part], want) {
			t.Errorf("%s: %q, want %q", part, got.Unread[part], want)
		}
	}
	got.FillFrom(&codex.Release{Enums: map[string][]string{"A": {"b"}}, Flags: map[string][]string{"codex": {"-c"}}, ConfigKeys: []string{"model"}})
	if len(got.Enums)*len(got.Flags)*len(got.ConfigKeys) != 1 {
		t.Errorf("FillFrom: %v", got)
	}
}

// A context that ends names the part that was read, and leaves no folder.
func TestLoadReleaseNamesThePartThatItWaitedFor(t *testing.T) {
	for part, call := range map[codex.Part]string{
		codex.PartMethods: "app-server generate-json-schema", codex.PartFeatures: "features list", codex.PartFlags: "completion bash",
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
			_, err = codex.LoadRelease(ctx, c, t.TempDir())
			if want := "stopped while Codex described its " + string(part) + ": the machine goes down"; err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}
