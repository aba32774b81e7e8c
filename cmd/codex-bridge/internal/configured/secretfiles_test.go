package configured

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/cmd/internal/settings"
)

// Only files with a secret that the bridge uses are hidden, so that others cost nothing.
func TestSecretFiles(t *testing.T) {
	at := bridgetest.NewHome(t, "codex-bridge/config.toml", "other.toml", ".pgpass", "pass", ".pg_service.conf", "key", "other/.postgresql/postgresql.key")
	services := strings.ReplaceAll("[c]\npassfile=ROOT/pass\nsslkey=ROOT/key\n[d]\npassword=e\n", "ROOT", at("."))
	if err := os.WriteFile(at("services"), []byte(services), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text, file string
		env        string
		want       []string
	}{
		"none":                    {text: "[policy]\n"},
		"local database":          {text: "[store]\nurl = \"\"\n"},
		"password of the store":   {text: "[store]\nurl = \"postgres://a:b@h/d\"\n", want: []string{"codex-bridge"}},
		"password as a parameter": {text: "[store]\nurl = \"postgres://a@h/d?password=b\"\n", want: []string{"codex-bridge"}},
		"password of the key":     {text: "[fleet]\nurl = \"postgres://a@h/d?sslpassword=b\"\n", env: "PGPASSWORD=c", want: []string{"codex-bridge"}},
		"file elsewhere":          {text: "[store]\nurl = \"postgres://a:b@h/d\"\n", file: "other.toml", want: []string{"other.toml"}},
		"password file":           {text: "[store]\nurl = \"postgres://a@h/d\"\n", want: []string{".pgpass"}},
		"other password file":     {text: "[store]\nurl = \"postgres://a@h/d?passfile=ROOT/pass\"\n", want: []string{"pass"}},
		"password in a variable":  {text: "[store]\nurl = \"postgres://a@h/d\"\n", env: "PGPASSWORD=c"},
		"service file":            {text: "[store]\nurl = \"postgres://a@h/d\"\n", env: "PGSERVICE=c", want: []string{".pgpass", ".pg_service.conf"}},
		"key":                     {text: "[store]\nurl = \"postgres://a@h/d?sslkey=ROOT/key\"\n", env: "PGPASSWORD=c", want: []string{"key"}},
		"default key":             {text: "[store]\nurl = \"postgres://a@h/d\"\n", env: "HOME=ROOT/other", want: []string{"other/.postgresql/postgresql.key"}},
		"files of a service":      {text: "[store]\nurl = \"postgres://a@h/d?service=c&servicefile=ROOT/services\"\n", want: []string{"pass", "services", "key"}},
		"password of a service":   {text: "[store]\nurl = \"postgres://a@h/d?service=d&servicefile=ROOT/services\"\n", want: []string{"services"}},
		"token of a collector":    {text: "[otel]\nendpoint = \"https://token@h\"\n", want: []string{"codex-bridge"}},
		"collector":               {text: "[otel]\nendpoint = \"https://h:4318\"\n"},
		"parameter of a server":   {text: "[tool_servers.a]\nurl = \"https://h/mcp?api_key=hunter2hunter2\"\n", want: []string{"codex-bridge"}},
		"server":                  {text: "[tool_servers.a]\nurl = \"https://h/mcp?page=hunter2hunter2\"\nbearer_token_env = \"T\"\n"},
		"token file":              {text: "[serve]\ntoken_file = \"ROOT/later\"\n", want: []string{"later"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.file == "" {
				test.file = "codex-bridge/config.toml"
			}
			t.Setenv(config.EnvConfig, at(test.file))
			if name, value, ok := strings.Cut(test.env, "="); ok {
				t.Setenv(name, strings.ReplaceAll(value, "ROOT", at(".")))
			}
			if err := os.WriteFile(at(test.file), []byte(strings.ReplaceAll(test.text, "ROOT", at("."))), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := config.Load(config.Discover(""))
			if err != nil {
				t.Fatal(err)
			}
			paths, err := Setup.SecretPaths(cfg, guard.WorldOf(cfg.Codex))
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, name := range test.want {
				want = append(want, at(name))
			}
			if diff := cmp.Diff(want, paths); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The default token of serve is hidden as soon as there is one.
func TestDefaultTokenIsHidden(t *testing.T) {
	at := bridgetest.NewHome(t)
	t.Setenv(config.EnvConfig, "")
	cfg := &config.Config{}
	if files := Setup.SecretFiles(cfg, guard.WorldOf(cfg.Codex)); len(files) > 0 {
		t.Error("nothing is there", files)
	}
	folder, err := Setup.SocketFolder(guard.WorldOf(cfg.Codex))
	if err != nil || !strings.HasPrefix(folder, at(".")) {
		t.Fatal(folder, err)
	}
	token := filepath.Join(folder, settings.ServeToken)
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(token, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if files := Setup.SecretFiles(cfg, guard.WorldOf(cfg.Codex)); len(files) != 1 || files[0].Path != token {
		t.Error(files)
	}
}
