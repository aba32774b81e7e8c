package settings

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/relay/redact"
)

// SecretFile is a file with a secret of the bridge. A command that reads it could act as the bridge: write
// its database, or be a client of serve.
type SecretFile struct {
	Holds string // for example "the token of serve"
	Path  string
}

// String returns "PATH (HOLDS)".
func (f SecretFile) String() string { return f.Path + " (" + f.Holds + ")" }

// SecretFiles returns the files with secrets of cfg.
func (s Setup) SecretFiles(cfg *config.Config, world policy.State) (files []SecretFile) {
	for _, one := range secretAddresses(cfg) {
		if at, ok := cfg.Origin(one.key); ok && !at.Layer.IsBundle() {
			files = append(files, SecretFile{"the secret in " + one.key, at.File})
		}
	}
	files = append(files, s.driverFiles(cfg)...)
	token := cfg.Serve.TokenFile
	if folder, err := s.SocketFolder(world); token == "" && err == nil {
		token = filepath.Join(folder, ServeToken)
		if _, err := os.Stat(token); err != nil {
			token = "" // no ws:// address has been used
		}
	}
	if token != "" {
		files = append(files, SecretFile{"the token of serve", token})
	}
	return files
}

// keyedAddress is the value of a key that is an address.
type keyedAddress struct {
	key  string
	text string
}

// secretAddresses returns the addresses of cfg that have a secret.
func secretAddresses(cfg *config.Config) []keyedAddress {
	all := []keyedAddress{
		{"store.url", cfg.Store.URL}, {"fleet.url", cfg.Fleet.URL}, {"otel.endpoint", cfg.Otel.Endpoint},
		{"policy_source.url", cfg.PolicySource.URL}, {"approvals.desk.webhook", cfg.Approvals.Desk.Webhook},
	}
	for name, server := range cfg.ToolServers {
		all = append(all, keyedAddress{config.Key("tool_servers", name), server.URL})
	}
	slices.SortFunc(all, func(a, b keyedAddress) int { return strings.Compare(a.key, b.key) })
	return slices.DeleteFunc(all, func(one keyedAddress) bool { return !hasSecret(one.text) })
}

// hasSecret reports whether an address has a password, a parameter that is named like a secret, or for the
// web a user, which may be a token.
func hasSecret(text string) bool {
	address, err := url.Parse(text)
	if err != nil {
		return false // the configuration did not load
	}
	password, _ := address.User.Password()
	for name, values := range address.Query() {
		for _, value := range values {
			if IsPostgres(address) && strings.HasSuffix(name, "password") || len(redact.EnvironSecrets([]string{name + "=" + value})) > 0 {
				return true
			}
		}
	}
	return password != "" || address.User != nil && !IsPostgres(address)
}

// hideSocket adds to world the folder of the hooks' socket, which commands must not read.
func (s Setup) hideSocket(world *policy.State) error {
	folder, err := s.SocketFolder(*world)
	if err != nil {
		return err
	}
	at, err := world.Paths.Canonical(folder)
	if err != nil {
		return fmt.Errorf("the folder of the hooks' socket %s can't be protected: %w; name another state folder with %s", folder, err, statefolder.Env)
	}
	world.Sensitive, world.Hidden = append(world.Sensitive, at), []string{at}
	return nil
}

// CompleteWorld returns what the Guard of a conversation with cfg knows of the machine, for one question about the
// policy.
func (s Setup) CompleteWorld(cfg *config.Config) (policy.State, error) {
	world := NewWorld(cfg)
	if err := s.hideSocket(&world); err != nil {
		return world, err
	}
	files, err := s.configuredFiles(cfg, world)
	files.AddTo(&world)
	return world, err
}

// configuredFiles returns the files that cfg names. Beside an error, secrets are missing.
func (s Setup) configuredFiles(cfg *config.Config, world policy.State) (files guard.ConfiguredFiles, err error) {
	files.Programs, files.Scripts = configuredPrograms(cfg)
	for _, file := range []string{cfg.PolicySource.Root, cfg.TableFile()} {
		if file != "" {
			files.Governs = append(files.Governs, file)
		}
	}
	files.Secrets, err = s.SecretPaths(cfg, world)
	return files, err
}

// SecretPaths returns the canonical paths of the files with secrets of cfg, which commands must not read.
//
// Measured with Codex 0.169: while a command runs, it can read a file that replaces a hidden one, but nothing
// that is put into a hidden folder. So the bridge's own folder of a configuration file is hidden with it.
func (s Setup) SecretPaths(cfg *config.Config, world policy.State) (paths []string, err error) {
	for _, file := range s.SecretFiles(cfg, world) {
		at, err := world.Paths.Canonical(file.Path)
		if err != nil {
			return nil, fmt.Errorf("%v can't be hidden from commands: %w", file, err)
		}
		if folder := filepath.Dir(at); filepath.Base(folder) == "codex-bridge" {
			at = folder
		}
		if !slices.Contains(paths, at) {
			paths = append(paths, at)
		}
	}
	return paths, nil
}

// Governing returns the files and folders that the policy of cfg depends on. With the files of the database's
// driver a command could lead the bridge to another database, and with a link to a program the bridge would run
// another one outside the sandbox.
func (s Setup) Governing(cfg *config.Config, world policy.State) []policy.SensitivePath {
	places := guard.Governing(cfg, world)
	var named policy.State
	programs, _ := configuredPrograms(cfg)
	guard.AddPrograms(&named, programs...)
	for _, link := range named.Links { // the sandbox of each thread protects the programs, but no links to them
		places = append(places, policy.SensitivePath{Name: "the link to a program of the configuration", Path: link, Hint: "name the program itself in the configuration"})
	}
	for _, file := range s.driverFiles(cfg) {
		if at, err := world.Paths.Canonical(file.Path); err == nil {
			places = append(places, policy.SensitivePath{Name: "the file with " + file.Holds, Path: at, Hint: "move the file, and name it in the address"})
		}
	}
	return places
}
