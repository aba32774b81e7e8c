//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/bridge-bench/internal/table"
	"codex-bridge.example/lifecycle/binding"
)

// bindings measures how long it takes to find the thread of a session among 100,000.
func (b *bench) bindings(int) (err error) {
	const count = 100_000
	folder, err := os.MkdirTemp("", "bridge-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Folder: filepath.Join(folder, "state")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := fillBindings(ctx, s.Location(), count); err != nil {
		return err
	}
	n := 0
	var failed error
	ns, err := perCall(func() {
		n = (n + 7919) % count
		kept, found, err := s.BindingBySession(ctx, sessionKey(n))
		if err == nil && found {
			_, _, err = binding.Read([]byte(kept.Record), kept.Session, kept.Updated)
		}
		if err != nil || !found {
			failed = fmt.Errorf("the session %s: found %v, %w", sessionKey(n), found, err)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	b.table.Add(table.Row{
		Key: "bindings", Title: "the thread of a session among 100,000", What: "lookup", Unit: "µs", Goal: table.AtMost(5000), Note: "SQLite",
	}, ns/1e3)
	return nil
}

func sessionKey(n int) string { return fmt.Sprintf("chat/%06d", n) }

// fillBindings writes rows as the store would, in one transaction.
func fillBindings(ctx context.Context, path string, count int) (err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	for i := range count {
		thread := fmt.Sprintf("019f2c11-8f0e-7c52-9a55-%012d", i)
		b := binding.Binding{ThreadID: thread, Cwd: workspace, Model: "gpt-5.5", DynamicTools: "[]"}.Stamped(now)
		if _, err := tx.ExecContext(ctx, `INSERT INTO bindings (session, thread, record, action, reason, previous_thread, mode, updated)
			VALUES ($1, $2, $3, 'started', 'notBound', '', '', $4)`, sessionKey(i), thread, string(binding.Encode(b)), now.Format("2006-01-02T15:04:05.000000Z")); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}
