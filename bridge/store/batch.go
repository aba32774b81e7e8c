package store

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// statement is an SQL statement with its arguments.
type statement struct {
	text string
	args []any
}

// updateAll runs statements in one transaction that excludes other writers. Other writers wait for
// a shorter time than with update.
func (s *Store) updateAll(ctx context.Context, all ...statement) error {
	if s.write == nil {
		return ErrReadOnly
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := s.batch(ctx, s, all); err != nil {
		return s.describe(err)
	}
	return s.checkNotReplaced()
}

// sqliteBatch uses prepared statements, without the goroutines with which the packages sql and
// sqlite could cancel them: they made other writers wait longer than the statements do.
func sqliteBatch(ctx context.Context, s *Store, all []statement) error {
	defer s.turns.take(ctx)()
	c, err := s.write.Conn(ctx)
	if err != nil {
		return err
	}
	err = c.Raw(func(conn any) error { return s.runPrepared(ctx, conn.(sqliteConn), all) })
	return errors.Join(err, c.Close())
}

// sqliteConn is the part of a connection of SQLite that sqliteBatch uses.
type sqliteConn interface {
	driver.ConnBeginTx
	driver.ConnPrepareContext
}

func (s *Store) runPrepared(ctx context.Context, c sqliteConn, all []statement) error {
	var tx driver.Tx
	if err := s.retry.do(ctx, func() (err error) {
		tx, err = c.BeginTx(context.Background(), driver.TxOptions{})
		return err
	}); err != nil {
		return err
	}
	for _, one := range all {
		if err := s.prepared.exec(c, one); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// preparedStatements has the statements of a connection by their texts.
type preparedStatements map[string]preparedStatement

type preparedStatement interface {
	driver.Stmt
	driver.StmtExecContext
}

func (p preparedStatements) exec(c sqliteConn, one statement) error {
	prepared, found := p[one.text]
	if !found {
		s, err := c.PrepareContext(context.Background(), one.text)
		if err != nil {
			return err
		}
		prepared = s.(preparedStatement)
		p[one.text] = prepared
	}
	values := make([]driver.NamedValue, len(one.args))
	for i, arg := range one.args {
		value, err := driver.DefaultParameterConverter.ConvertValue(arg)
		if err != nil {
			return err
		}
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: value}
	}
	_, err := prepared.ExecContext(context.Background(), values)
	return err
}

func (p preparedStatements) close() error {
	var all error
	for _, one := range p {
		all = errors.Join(all, one.Close())
	}
	clear(p)
	return all
}

// closePrepared closes the statements of the connection that writes: SQLite keeps the file open as
// long as there are any.
func (s *Store) closePrepared() error {
	if len(s.prepared) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	c, err := s.write.Conn(ctx)
	if err != nil { // a write still waits for another process
		return err
	}
	err = c.Raw(func(any) error { return s.prepared.close() })
	return errors.Join(err, c.Close())
}

const (
	// postgresLockUnsynced locks, and makes the commit of the transaction not wait for the disk: the
	// lock ends before postgresSync waits, and one write to the disk serves many writers.
	postgresLockUnsynced = `SELECT set_config('synchronous_commit', 'off', true), ` + postgresLock
	// postgresSync waits until the log of the server is on disk up to its own record, as the setting
	// synchronous_commit demands.
	postgresSync = `SELECT pg_logical_emit_message(true, 'codex-bridge', '')`
)

// postgresBatch sends everything at once, so that the server need not wait for the bridge while
// other writers wait.
func postgresBatch(ctx context.Context, s *Store, all []statement) error {
	var b pgx.Batch
	b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	b.Queue(postgresLockUnsynced)
	for _, one := range all {
		b.Queue(one.text, one.args...)
	}
	b.Queue("COMMIT")
	b.Queue(postgresSync)
	c, err := s.write.Conn(ctx)
	if err != nil {
		return err
	}
	err = c.Raw(func(raw any) error {
		conn := raw.(*stdlib.Conn).Conn()
		err := conn.SendBatch(ctx, &b).Close()
		if err != nil && !conn.IsClosed() {
			_, rollback := conn.Exec(ctx, "ROLLBACK")
			err = errors.Join(err, rollback)
		}
		return err
	})
	return errors.Join(err, c.Close())
}
