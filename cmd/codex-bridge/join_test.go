package main

import "testing"

// Overrides of the command line as JSON. Codex reads TOML, or else a text.
func TestOverrideAsJSON(t *testing.T) {
	for text, want := range map[string]string{
		"true": "true", "1": "1", `"a"`: `"a"`, "a b": `"a b"`, "[1, 'x']": `[1,"x"]`, `{a = {b = 1.5}}`: `{"a":{"b":1.5}}`, "": `""`, `"a`: `"\"a"`,
		"1\nW = 2": `"1\nW = 2"`,
	} {
		if got, err := jsonOf(text); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"2026-01-02T03:04:05Z", "inf"} {
		if got, err := jsonOf(text); err == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
	settings, err := sharedSettings([]string{"-c", "a.b=1", "app-server", "--disable", "x", "--analytics-default-enabled"})
	if err != nil || string(settings.Config["a.b"]) != "1" || string(settings.Config["features.x"]) != "false" || len(settings.Config) != 2 || settings.Folder == "" {
		t.Errorf("%+v, %v", settings, err)
	}
	for _, args := range [][]string{{"app-server", "--strict-config"}, {"app-server", "word"}, {"app-server", "-c"}, {"app-server", "--new"}} {
		if settings, err := sharedSettings(args); err == nil {
			t.Errorf("%q: %+v", args, settings)
		}
	}
}
