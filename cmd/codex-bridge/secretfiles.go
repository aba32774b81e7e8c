package main

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jackc/pgservicefile"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/relay/redact"
)

// secretFile is a file with a secret of the bridge. A command that reads it could act as the bridge: write
// its database, or be a client of serve.
type secretFile struct{ holds, path string }

// String returns "PATH (HOLDS)".
func (f secretFile) String() string { return f.path + " (" + f.holds + ")" }

// secretFiles returns the files with secrets of cfg.
func secretFiles(cfg *config.Config, world policy.State) (files []secretFile) {
	for _, one := range secretAddresses(cfg) {
		if at, ok := cfg.Origin(one.key); ok && !at.Layer.IsBundle() {
			files = append(files, secretFile{"the secret in " + one.key, at.File})
		}
	}
	files = append(files, databaseFiles(cfg)...)
	token := cfg.Serve.TokenFile
	if folder, err := socketFolder(world); token == "" && err == nil {
		token = filepath.Join(folder, serveToken)
		if _, err := os.Stat(token); err != nil {
			token = "" // no ws:// address has been used
		}
	}
	if token != "" {
		files = append(files, secretFile{"the token of serve", token})
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
			if isPostgres(address) && strings.HasSuffix(name, "password") || len(redact.EnvironSecrets([]string{name + "=" + value})) > 0 {
				return true
			}
		}
	}
	return password != "" || address.User != nil && !isPostgres(address)
}

// databaseFiles returns the files with passwords and keys with which the driver of PostgreSQL connects to the
// databases of cfg. It does not read a password file if it gets the password elsewhere, and reads a service
// file only if a service is named.
func databaseFiles(cfg *config.Config) (files []secretFile) {
	defaults := driverDefaults()
	for _, address := range databases(cfg) {
		c := driverSettings{address: address}
		service, serviceFile := c.get("service", "PGSERVICE"), cmp.Or(c.get("servicefile", "PGSERVICEFILE"), defaults.serviceFile)
		if service != "" {
			c.readService(serviceFile, service)
		}
		password, _ := address.User.Password()
		if cmp.Or(password, c.get("password", "PGPASSWORD")) == "" {
			files = append(files, secretFile{"the password of the database", cmp.Or(c.get("passfile", "PGPASSFILE"), defaults.passwordFile)})
		}
		if service != "" {
			files = append(files, secretFile{"the address of the database", serviceFile})
		}
		files = append(files, secretFile{"the key of the database's client", cmp.Or(c.get("sslkey", "PGSSLKEY"), defaults.key)})
	}
	return slices.DeleteFunc(files, func(f secretFile) bool {
		_, err := os.Stat(f.path)
		return err != nil
	})
}

// driverSettings are settings of the driver of PostgreSQL for a database.
type driverSettings struct {
	address *url.URL
	service map[string]string // of the service file
}

// get returns a setting from where the driver takes it first; "" if it has its default.
func (c driverSettings) get(parameter, variable string) string {
	return cmp.Or(c.address.Query().Get(parameter), c.service[parameter], os.Getenv(variable))
}

// readService reads the settings of a service. The driver does not connect if it can't.
func (c *driverSettings) readService(file, name string) {
	if all, err := pgservicefile.ReadServicefile(file); err == nil {
		if service, err := all.GetService(name); err == nil {
			c.service = service.Settings
		}
	}
}

// driverFiles are files that the driver of PostgreSQL reads.
type driverFiles struct{ passwordFile, serviceFile, key string }

// driverDefaults returns the files that it reads if no setting names others.
func driverDefaults() driverFiles {
	home, _ := config.Home()
	if data := os.Getenv("APPDATA"); runtime.GOOS == "windows" && data != "" {
		folder := filepath.Join(data, "postgresql")
		files := driverFiles{filepath.Join(folder, "pgpass.conf"), filepath.Join(folder, ".pg_service.conf"), filepath.Join(folder, "postgresql.key")}
		if _, err := os.Stat(files.serviceFile); err != nil {
			files.serviceFile = filepath.Join(home, ".pg_service.conf")
		}
		return files
	}
	return driverFiles{filepath.Join(home, ".pgpass"), filepath.Join(home, ".pg_service.conf"), filepath.Join(home, ".postgresql", "postgresql.key")}
}

// hideSocket adds to world the folder of the hooks' socket, which commands must not read.
func hideSocket(world *policy.State) error {
	folder, err := socketFolder(*world)
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

// completeWorld returns what the Guard of a conversation with cfg knows of the machine, for one question about the
// policy.
func completeWorld(cfg *config.Config) (policy.State, error) {
	world := newWorld(cfg)
	if err := hideSocket(&world); err != nil {
		return world, err
	}
	files, err := configuredFiles(cfg, world)
	files.AddTo(&world)
	return world, err
}

// configuredFiles returns the files that cfg names. Beside an error, secrets are missing.
func configuredFiles(cfg *config.Config, world policy.State) (files guard.ConfiguredFiles, err error) {
	files.Programs, files.Scripts = configuredPrograms(cfg)
	for _, file := range []string{cfg.PolicySource.Root, cfg.TableFile()} {
		if file != "" {
			files.Governs = append(files.Governs, file)
		}
	}
	files.Secrets, err = secretPaths(cfg, world)
	return files, err
}

// secretPaths returns the canonical paths of the files with secrets of cfg, which commands must not read.
//
// Measured with Codex 0.169: while a command runs, it can read a file that replaces a hidden one, but nothing
// that is put into a hidden folder. So the bridge's own folder of a configuration file is hidden with it.
func secretPaths(cfg *config.Config, world policy.State) (paths []string, err error) {
	for _, file := range secretFiles(cfg, world) {
		at, err := world.Paths.Canonical(file.path)
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

// governing returns the files and folders that the policy of cfg depends on. With the files of the database's
// driver a command could lead the bridge to another database, and with a link to a program the bridge would run
// another one outside the sandbox.
func governing(cfg *config.Config, world policy.State) []policy.SensitivePath {
	places := guard.Governing(cfg, world)
	var named policy.State
	programs, _ := configuredPrograms(cfg)
	guard.AddPrograms(&named, programs...)
	for _, link := range named.Links { // the sandbox of each thread protects the programs, but no links to them
		places = append(places, policy.SensitivePath{Name: "the link to a program of the configuration", Path: link, Hint: "name the program itself in the configuration"})
	}
	for _, file := range databaseFiles(cfg) {
		if at, err := world.Paths.Canonical(file.path); err == nil {
			places = append(places, policy.SensitivePath{Name: "the file with " + file.holds, Path: at, Hint: "move the file, and name it in the address"})
		}
	}
	return places
}
