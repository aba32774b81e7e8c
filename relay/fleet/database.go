package fleet

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
)

//go:embed migrations
var migrations embed.FS

// closeTimeout limits the wait for the network at the end of a connection.
const closeTimeout = time.Second

// lockKey is the advisory lock of a migration.
const lockKey = 7163376010450423132

// Error codes of PostgreSQL, and those of fleet_append.
const (
	codeNoFunction = "42883"
	codeNoTable    = "42P01"
	codeFork       = "FL001"
)

// Database is a fleet log in PostgreSQL. It connects when it is used, and Close disconnects, so that a
// server with few connections serves many bridges.
type Database struct {
	address  *store.Postgres
	location string
	conn     *pgx.Conn // nil: not connected
}

// NewDatabase returns the fleet log at an address. key is the name of the setting, for errors. It does
// not connect.
func NewDatabase(url, key string) (*Database, error) {
	address, err := store.ParsePostgres(url, key)
	if err != nil {
		return nil, err
	}
	// Without prepared statements it also works behind a pool of connections.
	address.Config.DefaultQueryExecMode = pgx.QueryExecModeExec
	d := &Database{address: address, location: address.Location}
	if schema := address.Config.RuntimeParams["search_path"]; schema != "" {
		d.location += "?search_path=" + schema
	}
	return d, nil
}

// Location implements Sink.
func (d *Database) Location() string { return d.location }

// Close implements Sink.
func (d *Database) Close() {
	if d.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		_ = d.conn.Close(ctx) // what was acknowledged is committed
		d.conn = nil
	}
}

// Send implements Sink.
func (d *Database) Send(ctx context.Context, b Batch) (decision.Head, error) {
	hashes, contents := make([]string, len(b.Entries)), make([]string, len(b.Entries))
	for i, e := range b.Entries {
		hashes[i], contents[i] = e.Hash, string(e.Content)
	}
	var head decision.Head
	err := d.connect(ctx)
	if err == nil {
		err = d.conn.QueryRow(ctx, `SELECT head_seq, head_hash FROM fleet_append($1, $2, $3, $4, $5, $6)`,
			b.Chain, b.Sender.Host, b.Sender.User, b.After.Seq+1, hashes, contents).Scan(&head.Seq, &head.Hash)
	}
	if fault := (*pgconn.PgError)(nil); errors.As(err, &fault) && fault.Code == codeFork {
		return head, &ForkError{d.location, b.Chain, fault.Message}
	}
	return head, d.describe(err)
}

// connect connects if there is no connection.
func (d *Database) connect(ctx context.Context) (err error) {
	if d.conn != nil && !d.conn.IsClosed() {
		return nil
	}
	d.conn, err = pgx.ConnectConfig(ctx, d.address.Config)
	return err
}

// ErrNoFleetLog means that the database has no tables of a fleet log.
var ErrNoFleetLog = errors.New(`it has no fleet log; run "codex-bridge decisions ship --create" with a role that may create tables`)

func (d *Database) describe(err error) error {
	if err == nil {
		return nil
	}
	if fault := (*pgconn.PgError)(nil); errors.As(err, &fault) && (fault.Code == codeNoFunction || fault.Code == codeNoTable) {
		err = ErrNoFleetLog
	}
	return fmt.Errorf("%s: %w", d.location, d.address.Describe(err))
}

// Create creates the tables of the fleet log, or migrates those of an older version. Only one process
// does so at a time.
func (d *Database) Create(ctx context.Context) error {
	if err := d.connect(ctx); err != nil {
		return d.describe(err)
	}
	return d.describe(pgx.BeginFunc(ctx, d.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(lockKey)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS fleet_schema (version BIGINT NOT NULL)`); err != nil {
			return err
		}
		var version int
		if err := tx.QueryRow(ctx, `SELECT coalesce(max(version), 0) FROM fleet_schema`).Scan(&version); err != nil {
			return err
		}
		steps, err := fs.Glob(migrations, "migrations/*.sql") // sorted, numbered from 1
		if err != nil {
			return err
		}
		for i, step := range steps[min(version, len(steps)):] {
			text, err := fs.ReadFile(migrations, step)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, string(text)); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `INSERT INTO fleet_schema (version) VALUES ($1)`, version+i+1); err != nil {
				return err
			}
		}
		return nil
	}))
}

// Entries returns all entries, ordered by chain and number. They are those of one moment. The sequence
// ends at the first error.
func (d *Database) Entries(ctx context.Context) iter.Seq2[Entry, error] {
	return query(ctx, d, `SELECT chain, seq, hash, content FROM fleet_decisions ORDER BY chain, seq`, func(e *Entry) []any {
		return []any{&e.Chain, &e.Seq, &e.Hash, &e.Content}
	})
}

// Heads returns the last entry of each chain, without its content, ordered by chain. It verifies nothing.
func (d *Database) Heads(ctx context.Context) iter.Seq2[Entry, error] {
	return query(ctx, d, `SELECT c.chain, h.seq, h.hash FROM fleet_chains c CROSS JOIN LATERAL
		(SELECT seq, hash FROM fleet_decisions d WHERE d.chain = c.chain ORDER BY seq DESC LIMIT 1) h ORDER BY c.chain`, func(e *Entry) []any {
		return []any{&e.Chain, &e.Seq, &e.Hash}
	})
}

// query returns the rows of a query. Only a part of them is in memory.
func query[T any](ctx context.Context, d *Database, text string, columns func(*T) []any, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err := d.connect(ctx); err != nil {
			yield(none, d.describe(err))
			return
		}
		rows, err := d.conn.Query(ctx, text, args...)
		if err != nil {
			yield(none, d.describe(err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var row T
			if err := rows.Scan(columns(&row)...); err != nil {
				yield(none, d.describe(err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(none, d.describe(err))
		}
	}
}
