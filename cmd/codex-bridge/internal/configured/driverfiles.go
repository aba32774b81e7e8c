package configured

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/jackc/pgservicefile"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/cmd/internal/settings"
)

// databaseFiles returns the files with passwords and keys with which the driver of PostgreSQL connects to the
// Databases of cfg. It does not read a password file if it gets the password elsewhere, and reads a service
// file only if a service is named.
func databaseFiles(cfg *config.Config) (files []settings.SecretFile) {
	defaults := driverDefaults()
	for _, address := range settings.Databases(cfg) {
		c := driverSettings{address: address}
		service, serviceFile := c.get("service", "PGSERVICE"), cmp.Or(c.get("servicefile", "PGSERVICEFILE"), defaults.serviceFile)
		if service != "" {
			c.readService(serviceFile, service)
		}
		password, _ := address.User.Password()
		if cmp.Or(password, c.get("password", "PGPASSWORD")) == "" {
			files = append(files, settings.SecretFile{Holds: "the password of the database", Path: cmp.Or(c.get("passfile", "PGPASSFILE"), defaults.passwordFile)})
		}
		if service != "" {
			files = append(files, settings.SecretFile{Holds: "the address of the database", Path: serviceFile})
		}
		files = append(files, settings.SecretFile{Holds: "the key of the database's client", Path: cmp.Or(c.get("sslkey", "PGSSLKEY"), defaults.key)})
	}
	return slices.DeleteFunc(files, func(f settings.SecretFile) bool {
		_, err := os.Stat(f.Path)
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
