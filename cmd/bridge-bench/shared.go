//go:build linux

package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/bridge/store/postgrestest"
)

// shared measures the same search in a PostgreSQL, which it fills once. It runs its rounds one
// after the other, so that the server does not disturb other measurements.
func (b *bench) shared(n int) (err error) {
	if n > 0 {
		return nil
	}
	ctx := context.Background()
	server, err := postgrestest.Start(postgrestest.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	url, err := server.Database(ctx)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Options{URL: url})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := fillRecords(ctx, s, b.searched()); err != nil {
		return err
	}
	if err := analyze(ctx, url); err != nil {
		return err
	}
	for range b.rounds {
		if err := b.search(ctx, s, "shared/", searchTitle(b.searched(), "PostgreSQL")); err != nil {
			return err
		}
	}
	return nil
}

// analyze makes the statistics that a server otherwise makes within minutes. Without them, PostgreSQL takes all
// words for frequent or all for rare.
func analyze(ctx context.Context, url string) error {
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "ANALYZE transcript")
	return errors.Join(err, c.Close(ctx))
}
