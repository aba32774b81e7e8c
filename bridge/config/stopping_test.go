package config_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
)

// A workspace file can deny other methods, but none that ends work. The user's file can.
func TestWorkspaceFileCannotDenyStopping(t *testing.T) {
	dir := t.TempDir()
	user, workspace := "[policy]\nmode = \"enforce\"\n", "[policy.methods]\n\"turn/steer\" = \"deny\"\n"
	for _, method := range slices.Sorted(maps.Keys(config.StoppingMethods)) {
		workspace += fmt.Sprintf("%q = \"deny\"\n", method)
	}
	o := config.Options{User: filepath.Join(dir, "user.toml"), Workspace: dir, Home: "/home/ada"}
	load := func(user, workspace string) *config.Config {
		t.Helper()
		for file, text := range map[string]string{o.User: user, filepath.Join(dir, config.WorkspaceFile): workspace} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := config.Load(o)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := load(user, workspace)
	if want := map[string]string{"turn/steer": "deny"}; !maps.Equal(c.Policy.Methods, want) {
		t.Errorf("methods %v, want %v", c.Policy.Methods, want)
	}
	if got := fmt.Sprint(c.Warnings()); strings.Count(got, "can't deny a method that ends work") != len(config.StoppingMethods) {
		t.Errorf("warnings: %s", got)
	}
	if c = load(user+"[policy.methods]\n\"turn/interrupt\" = \"deny\"\n", ""); c.Policy.Methods["turn/interrupt"] != "deny" {
		t.Errorf("the user's file: %v", c.Policy.Methods)
	}
}
