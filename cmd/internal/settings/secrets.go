package settings

import (
	"io"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/redact"
)

// CodexEnviron returns the environment of Codex.
//
// Measured with Codex 0.169: commands inherit it, also variables such as X_SECRET and MY_TOKEN. So
// under an enforced policy it lacks those with secrets of the bridge, unless codex.env sets them.
func (s Setup) CodexEnviron(cfg *config.Config) []string {
	base := os.Environ()
	if cfg.Policy.Mode == config.Enforce {
		base = codex.Environ(base, nil, s.secretVariables(cfg))
	}
	return codex.Environ(base, cfg.Codex.Env, append(slices.Clip(cfg.Codex.EnvRemove), OwnCodexEnv))
}

// secretVariables returns the variables with secrets that only the bridge uses under cfg.
func (s Setup) secretVariables(cfg *config.Config) (names []string) {
	for _, server := range cfg.ToolServers {
		if server.BearerTokenEnv != "" {
			names = append(names, server.BearerTokenEnv)
		}
	}
	if s.Variables != nil {
		names = append(names, s.Variables(cfg)...)
	}
	for _, address := range Databases(cfg) {
		if _, has := address.User.Password(); !has {
			names = append(names, "PGPASSWORD")
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Databases returns the addresses of the PostgreSQL databases of cfg.
func Databases(cfg *config.Config) (all []*url.URL) {
	for _, text := range []string{cfg.Store.URL, cfg.Fleet.URL} {
		if address, err := url.Parse(text); err == nil && IsPostgres(address) {
			all = append(all, address)
		}
	}
	return all
}

// IsPostgres reports whether an address is that of a PostgreSQL database.
func IsPostgres(address *url.URL) bool { return strings.HasPrefix(address.Scheme, "postgres") }

// Secrets returns the known secrets, for redaction: environment variables with a secret's name,
// also those that the configuration sets for Codex; the tokens of tool servers; the password of
// the databases; those of features.
func (s Setup) Secrets(cfg *config.Config) []string {
	environ := os.Environ()
	for name, value := range cfg.Codex.Env {
		environ = append(environ, name+"="+value)
	}
	for _, server := range cfg.ToolServers {
		if server.BearerTokenEnv != "" {
			environ = append(environ, "TOKEN="+os.Getenv(server.BearerTokenEnv))
		}
	}
	for _, one := range []string{cfg.Store.URL, cfg.Fleet.URL, cfg.PolicySource.URL} {
		if address, err := url.Parse(one); err == nil && address.User != nil {
			password, _ := address.User.Password()
			environ = append(environ, "PASSWORD="+password)
		}
	}
	if s.Environ != nil {
		environ = append(environ, s.Environ()...)
	}
	return redact.EnvironSecrets(environ)
}

// Logger returns a logger to w. It logs warnings and errors unless CODEX_BRIDGE_LOG sets another level, and
// redacts secrets.
func (s Setup) Logger(w io.Writer, cfg *config.Config) *slog.Logger {
	level := slog.LevelWarn
	if text := os.Getenv("CODEX_BRIDGE_LOG"); text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			level = slog.LevelWarn
		}
	}
	opts := &slog.HandlerOptions{Level: level}
	var h slog.Handler = slog.NewTextHandler(w, opts)
	if os.Getenv("CODEX_BRIDGE_LOG_FORMAT") == "json" {
		h = slog.NewJSONHandler(w, opts)
	}
	return slog.New(redact.New(redact.Limits{}, s.Secrets(cfg)...).Handler(h))
}
