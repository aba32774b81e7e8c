package store

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// connectTimeout applies if the URL has no timeout; the driver would wait forever.
const connectTimeout = 10 * time.Second

// All bridges that share a database use one advisory lock. A table lock would need more rights than
// INSERT and SELECT, which suffice for the log once the tables exist.
//
// With read committed, each statement after the lock sees all earlier commits. A stricter level
// would read a snapshot from before the lock.
var postgresDialect = dialect{
	name:       "postgres",
	isolation:  sql.LevelReadCommitted,
	lock:       `SELECT ` + postgresLock,
	hasTable:   `SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1`,
	hint:       func(error) string { return "" }, // the server's errors suffice
	batch:      postgresBatch,
	sum:        func(text string) string { return "encode(sha256(convert_to(" + text + ", 'UTF8')), 'hex')" },
	parameter:  func(n int) string { return "$" + strconv.Itoa(n) },
	unprepared: []any{pgx.QueryExecModeExec},
	find:       postgresFind,
}

const postgresLock = `pg_advisory_xact_lock(7163376010450423130)`

// Postgres is the address of a PostgreSQL database. No text of it has the password.
type Postgres struct {
	Config   *pgx.ConnConfig
	Location string
	dialect  dialect // without more than the secrets
}

// ParsePostgres parses an address. key is the name of the setting, for errors.
func ParsePostgres(text, key string) (*Postgres, error) {
	invalid := fmt.Errorf("%s is not an address of PostgreSQL; write postgres://user@host:5432/database, with special characters as %%XX", key)
	address, err := url.Parse(text)
	if err != nil {
		return nil, invalid // the error of url.Parse has the address, with a password
	}
	p := &Postgres{dialect: dialect{hint: postgresDialect.hint, secrets: secretsIn(address, text)}}
	if p.Config, err = pgx.ParseConfig(text); err != nil {
		return nil, fmt.Errorf("%w%s", invalid, p.dialect.redact(parseProblem(err)))
	}
	if strings.Contains(p.Config.Host, "@") {
		// The driver splits at the first @ and takes a part of the password for the host.
		return nil, invalid
	}
	if p.Config.Password != "" {
		p.dialect.secrets = append(p.dialect.secrets, p.Config.Password)
	}
	if p.Config.ConnectTimeout == 0 {
		p.Config.ConnectTimeout = connectTimeout
	}
	p.Location = p.dialect.redact(fmt.Sprintf("PostgreSQL %s/%s", net.JoinHostPort(p.Config.Host, strconv.Itoa(int(p.Config.Port))), p.Config.Database))
	return p, nil
}

// Describe returns an error of the database without secrets, on one line.
func (p *Postgres) Describe(err error) error { return p.dialect.describe(err) }

func openPostgres(ctx context.Context, o Options) (*Store, error) {
	p, err := ParsePostgres(o.URL, "store.url")
	if err != nil {
		return nil, err
	}
	s := &Store{dialect: postgresDialect, location: p.Location}
	s.secrets = p.dialect.secrets
	db := stdlib.OpenDB(*p.Config, stdlib.OptionAfterConnect(configureSession))
	db.SetMaxOpenConns(4)
	s.read = db
	if !o.ReadOnly {
		s.write = db
	}
	if err := db.PingContext(ctx); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("%s can't be used; see store.url: %w", s.location, s.describe(err))
	}
	return s, nil
}

// parseProblem returns the driver's reason without the address. The driver redacts only one
// spelling of the password.
func parseProblem(err error) string {
	text := err.Error()
	if end := strings.LastIndex(text, "`: "); end >= 0 {
		return text[end+1:]
	}
	return ""
}

// configureSession makes commits wait for the disk, even if the server's configuration does not,
// and limits the wait for locks.
func configureSession(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, `SELECT set_config('lock_timeout', $1, false),
		set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)`,
		strconv.FormatInt(writeTimeout.Milliseconds(), 10))
	return err
}

// secretsIn returns the texts that no error may show, in all spellings of a URL.
func secretsIn(address *url.URL, text string) []string {
	secrets := []string{text, address.String()}
	if address.User != nil {
		if password, ok := address.User.Password(); ok && password != "" {
			_, raw, _ := strings.Cut(address.User.String(), ":")
			secrets = append(secrets, password, raw, url.QueryEscape(password), url.PathEscape(password))
		}
	}
	for _, name := range []string{"password", "sslpassword"} {
		for _, value := range address.Query()[name] {
			if value != "" {
				secrets = append(secrets, value, url.QueryEscape(value), url.PathEscape(value))
			}
		}
	}
	return secrets
}
