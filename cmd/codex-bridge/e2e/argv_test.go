//go:build linux

package e2e_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/editor"
)

// The command line reaches Codex's configuration; with enforce only the allowed parts. The
// behaviour of Codex for each list was measured with 0.169.0; bridge/policy parses overrides the
// same way.
func TestCommandLineIsFiltered(t *testing.T) {
	t.Parallel()
	const most = "[policy]\nconfig_keys = [\"model\", \"tui.**\", \"x\", \"features.code_mode*\"]\nmodels = [\"gpt-5.5\"]\n"
	for name, test := range map[string]struct {
		before, after []string // app-server
		codex         string   // the command-line layer of Codex alone
		held          string   // and behind the bridge
	}{
		"as VS Code does": {
			[]string{"-c", "features.code_mode_host=true"}, []string{"--analytics-default-enabled"},
			`{"features":{"code_mode_host":true}}`, `{"features":{"code_mode_host":true}}`,
		},
		"every way to write it": {
			[]string{"-c", "x=1", "-ctui.a=2", "-c=tui.b=3"}, []string{"--config", "tui.c=4", "--config=y=5"},
			`{"tui":{"a":2,"b":3,"c":4},"x":1,"y":5}`, `{"tui":{"a":2,"b":3,"c":4},"x":1}`,
		},
		"trimmed, and cut at the first =": {[]string{"-c", " x = a=b "}, nil, `{"x":"a=b"}`, `{"x":"a=b"}`},
		"no quotes in keys":               {[]string{"-c", `projects."/x".trust_level=trusted`}, nil, `{"projects":{"\"/x\"":{"trust_level":"trusted"}}}`, `null`},
		"a segment keeps its spaces":      {[]string{"-c", "tui . a=1"}, nil, `{"tui ":{" a":1}}`, `null`},
		"an empty segment":                {[]string{"-c", "y..a=1"}, nil, `{"y":{"":{"a":1}}}`, `null`},
		"a table":                         {[]string{"-c", "features={hooks=false}"}, nil, `{"features":{"hooks":false}}`, `null`},
		"dots in a table":                 {[]string{"-c", `tui={a.b=1, "c.d"=2}`}, nil, `{"tui":{"a":{"b":1},"c.d":2}}`, `{"tui":{"a":{"b":1},"c.d":2}}`},
		"what is no TOML is a text":       {[]string{"-c", "x=trUe", "-c", "tui.a="}, nil, `{"tui":{"a":""},"x":"trUe"}`, `{"tui":{"a":""},"x":"trUe"}`},
		"half a quote is taken off":       {[]string{"-c", `model="o9`}, nil, `{"model":"o9"}`, `null`},
		"a second line is taken for a text": {
			[]string{"-c", "x={a=1}\n[_x_.b]\nc=1"}, nil, `{"x":"{a=1}\n[_x_.b]\nc=1"}`, `null`,
		},
		"a forbidden model":   {[]string{"-c", "model=o9"}, nil, `{"model":"o9"}`, `null`},
		"features":            {[]string{"--enable", "hooks"}, []string{"--disable=goals"}, `{"features":{"goals":false,"hooks":true}}`, `{"features":{"goals":false}}`},
		"the last one wins":   {[]string{"-c", "x=1"}, []string{"-c", "x=2"}, `{"x":2}`, `{"x":2}`},
		"the reviewer":        {[]string{"-c", "approvals_reviewer=auto_review"}, nil, `{"approvals_reviewer":"auto_review"}`, `null`},
		"flags of no effect":  {[]string{"-s", "danger-full-access", "-a", "never", "-m", "o9", "-C", "/", "--add-dir", "/", "--oss", "--search"}, nil, `null`, `null`},
		"a prompt's pictures": {[]string{"-i", "a", "b", "-c", "x=1"}, nil, `{"x":1}`, `{"x":1}`},
	} {
		if !isSampledName(3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: most})
			args := slices.Concat(test.before, []string{"app-server"}, test.after)
			if got := w.flagsLayer(slices.Concat([]string{codexPath}, args)); got != test.codex {
				t.Errorf("codex: %s, want %s", got, test.codex)
			}
			if got := checkPinned(t, w.flagsLayer(slices.Concat([]string{proxyPath}, args))); got != test.held {
				t.Errorf("behind the bridge: %s, want %s", got, test.held)
			}
		})
	}
}

// checkPinned returns a layer without the features that the bridge switches off, and checks that
// they are in it.
func checkPinned(t *testing.T, layer string) string {
	t.Helper()
	var keys map[string]any
	if err := json.Unmarshal([]byte(layer), &keys); err != nil {
		t.Fatal(err)
	}
	features, _ := keys["features"].(map[string]any)
	for _, name := range pinned {
		if features[name] != false {
			t.Errorf("%s is not switched off: %s", name, layer)
		}
		delete(features, name)
	}
	if len(features) == 0 {
		delete(keys, "features")
	}
	if len(keys) == 0 {
		return "null"
	}
	text, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// flagsLayer returns the layer that Codex reports for its command line; null: empty.
func (w *world) flagsLayer(argv []string) string {
	w.t.Helper()
	e := w.start(argv, editor.Options{})
	ctx := deadline(w.t)
	if _, err := e.Initialize(ctx, nil); err != nil {
		w.t.Fatal(err)
	}
	result, fault := e.Call(ctx, "config/read", map[string]any{"includeLayers": true})
	if fault != nil {
		w.t.Fatal(fault)
	}
	var answer struct {
		Layers []struct {
			Name   struct{ Type string }
			Config any
		}
	}
	if err := json.Unmarshal(result, &answer); err != nil {
		w.t.Fatal(err)
	}
	for _, layer := range answer.Layers {
		if layer.Name.Type == "sessionFlags" {
			text, err := json.Marshal(layer.Config)
			if err != nil {
				w.t.Fatal(err)
			}
			return string(text)
		}
	}
	return "null"
}

// The table of flags says how many values each takes, as Codex does where they are missing. Otherwise a value could be
// a command or a call for help to the bridge, which would then run Codex without the policy.
func TestFlagValues(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nmode = \"enforce\"\n"})
	const servers = "--plugin-mcp-launch-cwd"
	release, checked, rule := codexVersion(t), 0, ""
	err := methods.EachRow("flags.txt", methods.FlagTable, 9, func(cells []string) error {
		name, _, _ := strings.Cut(cells[0], ", ")
		command, _, _ := strings.Cut(cells[1], ", ")
		since, until := cells[5], cells[6]
		if name == servers {
			rule = cells[3]
		}
		if cells[2] == "none" || since != "" && codex.CompareVersions(since, release) > 0 || until != "" && codex.CompareVersions(until, release) < 0 {
			return nil
		}
		args := append(strings.Fields(strings.NewReplacer("*", "app-server", "codex", "").Replace(command)), name)
		_, stderr, _ := w.execute(codexPath, "", args...)
		m := regexp.MustCompile(` is required for '` + name + ` (<[^']+)'`).FindStringSubmatch(stderr)
		if m == nil {
			t.Errorf("%q: %s", args, stderr)
			return nil
		}
		values := map[int]string{1: "one", 3: "three"}[strings.Count(m[1], "<")]
		if strings.HasSuffix(m[1], "...") {
			values = "many"
		}
		if checked++; values != cells[2] {
			t.Errorf("%q takes %s, and not %s", args, m[1], cells[2])
		}
		return nil
	})
	if err != nil || checked < 30 {
		t.Errorf("%d flags, %v", checked, err)
	}
	args := []string{"app-server", servers, "x@y", "help", w.workspace}
	if rule == "" { // a person has not judged it
		if _, stderr, status := w.execute(proxyPath, "", args...); status != 2 || !strings.Contains(stderr, servers) {
			t.Errorf("%q: %d, %s", args, status, stderr)
		}
		return
	}
	c := w.open(append([]string{proxyPath}, args...)...)
	c.initialize(nil)
	if err := c.mustFail("thread/shellCommand", map[string]any{"threadId": "x", "command": "true"}); !strings.Contains(err.Message, "policy.methods") {
		t.Error(err)
	}
	c.closeAndWait()
}
