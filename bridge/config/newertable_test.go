package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/bridge/config"
)

// A newer table lets more pass, so a policy of the machine takes none of the user's.
func TestWhoNamesTheTable(t *testing.T) {
	const enforce = "[policy]\nmode = \"enforce\"\n"
	named := func(name string) string { return "[codex]\ntable = \"" + name + "\"\n" }
	withTable := config.Bundle{Name: "bundle v7 policy.toml", Text: enforce, TableName: "bundle v7 codex-table.txt", Table: "of the bundle"}
	noTable := config.Bundle{Name: "bundle v7 policy.toml", Text: enforce}
	for name, c := range map[string]struct {
		managed, user string
		bundle        *config.Bundle
		table         string // its text
		warning       string
	}{
		"none":                                {enforce, enforce, nil, "", ""},
		"of the machine":                      {named("a.txt") + enforce, "", nil, "text of a.txt", ""},
		"of the user":                         {"", named("a.txt") + enforce, nil, "text of a.txt", ""},
		"of the user, machine without policy": {"[approvals]\nremember = \"off\"\n", named("a.txt"), nil, "text of a.txt", ""},
		"of the user under the machine":       {enforce, named("a.txt"), nil, "", "only the machine's files can name a table"},
		"of both":                             {named("a.txt") + enforce, named("b.txt"), nil, "text of a.txt", "only the machine's files can name a table"},
		"of both, without policy":             {named("a.txt"), named("b.txt"), nil, "text of a.txt", "ignored, since the managed layer"},
		"of the machine's bundle":             {named("a.txt") + sourceText, "", &withTable, "of the bundle", "ignored, since the bundle layer"},
		"beside the machine's bundle":         {named("a.txt") + sourceText, "", &noTable, "text of a.txt", ""},
		"of the user's bundle":                {"", sourceText, &withTable, "of the bundle", ""},
		"beside the user's bundle":            {"", named("a.txt") + sourceText, &noTable, "text of a.txt", ""},
		"of the user's bundle, machine":       {enforce, sourceText, &withTable, "", ""},
	} {
		o := withBundle(t, c.managed, c.user, c.bundle)
		for _, file := range []string{"a.txt", "b.txt"} {
			put(t, filepath.Join(filepath.Dir(o.User), file), "text of "+file)
		}
		cfg, err := config.Load(o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var warnings []string
		for _, w := range cfg.Warnings() {
			warnings = append(warnings, w.Error())
		}
		all := strings.Join(warnings, "\n")
		if text := cfg.Policy.Newer.Text; text != c.table || (all == "") != (c.warning == "") || !strings.Contains(all, c.warning) {
			t.Errorf("%s: table %q, warnings %q; want %q, %q", name, text, all, c.table, c.warning)
		}
		if file := cfg.TableFile(); (file == "") != (!strings.HasPrefix(c.table, "text of ")) {
			t.Errorf("%s: the file is %q", name, file)
		}
	}
}

func TestWatchReportsTables(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file, table := filepath.Join(dir, "config.toml"), filepath.Join(dir, "table.txt")
		put(t, table, "one")
		put(t, file, "[codex]\ntable = \"table.txt\"\n")
		opts := config.Options{User: file}
		loaded, err := config.Load(opts)
		if err != nil {
			t.Fatal(err)
		}
		opts.Loaded = loaded
		texts := make(chan string, 16)
		runWatch(t, opts, func(c *config.Config, err error) {
			if err != nil || c.WorkspaceError() != nil {
				texts <- "error"
				return
			}
			texts <- c.Policy.Newer.Text
		})
		for _, step := range []struct {
			do   func()
			want string
		}{
			{func() { put(t, table, "two") }, "two"},
			{func() { put(t, table, "two") }, ""},
			{func() {
				if err := os.Remove(table); err != nil {
					t.Fatal(err)
				}
			}, "error"}, // the last content counts
			{func() { put(t, table, "three") }, "three"},
			{func() { put(t, file, "[codex]\n") }, ""},
		} {
			step.do()
			got := ""
			select {
			case got = <-texts:
			case <-time.After(still):
			}
			if got != step.want {
				t.Errorf("got %q, want %q", got, step.want)
			}
		}
	})
}
