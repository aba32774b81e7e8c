package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// connectTimeout is for a URL that names none; the driver would wait for ever.
const connectTimeout = 10 * time.Second

// errAddress never shows the address, which may hold a password.
var errAddress = errors.New("store.url is not an address of PostgreSQL; it looks like postgres://user@host:5432/database, and what is special in a part is written as %XX")

// The advisory lock is one for all bridges on a database. A lock of the table
// would need more rights than to insert and to select, which are all that a
// bridge needs once the tables are there.
//
// Read committed: each statement after the lock sees what was committed before
// it. A stricter level would read as of the time before the lock.
var postgresDialect = dialect{
	name:       "postgres",
	isolation:  sql.LevelReadCommitted,
	lock:       `SELECT pg_advisory_xact_lock(7163376010450423130)`,
	hasTable:   `SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1`,
	mend:       func(error) string { return "" }, // the server says it
	keepRecord: postgresKeep, search: postgresSearch,
}

func openPostgres(ctx context.Context, o Options) (*Store, error) {
	address, err := url.Parse(o.URL)
	if err != nil {
		return nil, errAddress
	}
	s := &Store{dialect: postgresDialect}
	s.secrets = secretsOf(address, o.URL)
	config, err := pgx.ParseConfig(o.URL)
	if err != nil {
		return nil, fmt.Errorf("%w%s", errAddress, s.hide(withoutAddress(err)))
	}
	if strings.Contains(config.Host, "@") {
		// The driver cuts at the first @, and takes half of a password for the host.
		return nil, errAddress
	}
	if config.Password != "" {
		s.secrets = append(s.secrets, config.Password)
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	s.where = s.hide(fmt.Sprintf("PostgreSQL %s/%s", net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))), config.Database))
	db := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(settle))
	db.SetMaxOpenConns(4)
	s.read = db
	if !o.ReadOnly {
		s.write = db
	}
	if err := db.PingContext(ctx); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("%s can't be used; see store.url: %w", s.where, s.failed(err))
	}
	return s, nil
}

// withoutAddress is what the driver says is wrong with an address, after the
// address, of which it hides only the password and that in one spelling.
func withoutAddress(err error) string {
	text := err.Error()
	if end := strings.LastIndex(text, "`: "); end >= 0 {
		return text[end+1:]
	}
	return ""
}

// settle makes a session's commits durable where the server's configuration
// would acknowledge them before they are on its disk, and bounds its waiting.
func settle(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, `SELECT set_config('lock_timeout', $1, false),
		set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false)`,
		strconv.FormatInt(patience.Milliseconds(), 10))
	return err
}

// secretsOf are the texts that no error may show, in every spelling of the URL.
func secretsOf(address *url.URL, text string) []string {
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
