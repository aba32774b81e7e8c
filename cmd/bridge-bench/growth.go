//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/bridge/store/postgrestest"
	"codex-bridge.example/cmd/bridge-bench/internal/table"
)

// grown are the searches whose time the growth curve shows.
var grown = []struct {
	key, what, text string
	search          store.SearchOptions
}{
	{"everywhere", "a word that is in all of them", "pump", store.SearchOptions{}},
	{"rare", "a word that is in each thousandth", "rare77", store.SearchOptions{}},
	{"both", "both", "pump rare77", store.SearchOptions{}},
	{"few", "the first, and a word that is in each 50,000th", "pump word777", store.SearchOptions{}},
	{"thread", "the first, in one of 1,000 threads", "pump", store.SearchOptions{Thread: "t123"}},
	{"phrase", "a phrase that is in all of them, and the second", `"fails now" rare77`, store.SearchOptions{}},
	{newestTenth, "the second, in the newest tenth", "rare77", store.SearchOptions{}},
	{excludedKey, "the first without a word that is in all of them, too", "pump -fails", store.SearchOptions{}},
}

// excludedKey is the key of the search without a match: all records have the word that it excludes.
const excludedKey = "excluded"

// growth measures searches among more and more records: up to 100,000, or up to 10,000,000 in the
// databases of -records. It runs its rounds one after the other.
func (b *bench) growth(n int) error {
	if n > 0 {
		return nil
	}
	sizes, folder, data := []int{10_000, 100_000}, filepath.Join(b.dir, "records"), ""
	if b.records != "" {
		sizes, folder, data = append(sizes, 1_000_000, 10_000_000), b.records, filepath.Join(b.records, "postgresql")
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // the user of PostgreSQL reads it, too
		return err
	}
	server, err := postgrestest.Start(postgrestest.Options{Data: data})
	if err != nil {
		return err
	}
	for _, size := range sizes {
		if err = b.growTo(context.Background(), size, folder, server); err != nil {
			break
		}
	}
	return errors.Join(err, server.Stop())
}

// growTo measures searches among size records in SQLite and in PostgreSQL.
func (b *bench) growTo(ctx context.Context, size int, folder string, server *postgrestest.Server) (err error) {
	inSQLite, err := store.Open(ctx, store.Options{Folder: filepath.Join(folder, "sqlite", strconv.Itoa(size))})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, inSQLite.Close()) }()
	url, err := server.OpenDatabase(ctx, fmt.Sprint("records", size))
	if err != nil {
		return err
	}
	inPostgres, err := store.Open(ctx, store.Options{URL: url})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, inPostgres.Close()) }()
	var both errgroup.Group
	both.Go(func() error { return fillUpTo(ctx, inSQLite, size) })
	both.Go(func() error { return fillUpTo(ctx, inPostgres, size) })
	if err := both.Wait(); err != nil {
		return err
	}
	for range b.rounds {
		if err := errors.Join(b.searchGrown(ctx, inSQLite, size, "SQLite"), b.searchGrown(ctx, inPostgres, size, "PostgreSQL")); err != nil {
			return err
		}
	}
	return nil
}

// fillUpTo adds the records that an earlier run did not add.
func fillUpTo(ctx context.Context, s *store.Store, size int) error {
	const count = 5000 // divides all sizes
	have, err := s.CountRecords(ctx)
	for first := int(have); err == nil && first < size; first += count {
		// A batch may meet its deadline while the database writes what it has collected for hours.
		for range 3 {
			if err = keepBatch(ctx, s, first, count); err == nil {
				break
			}
		}
	}
	return err
}

func (b *bench) searchGrown(ctx context.Context, s *store.Store, size int, database string) error {
	for _, one := range grown {
		one.search.Query = one.text
		if one.key == newestTenth {
			one.search.Since = benchRecord(size / 10 * 9).Time
		}
		began := time.Now()
		found, err := s.Find(ctx, one.search)
		if err != nil {
			return err
		}
		took := time.Since(began)
		if len(found) == 0 && size >= 50_000 && one.key != excludedKey {
			return fmt.Errorf("%q has no match", one.text)
		}
		note := ""
		if b.records == "" && size == 100_000 && one.key == "everywhere" {
			note = "up to 10,000,000 with -records FOLDER"
		}
		b.table.Add(table.Row{
			Key: fmt.Sprintf("growth/%s/%d/%s", database, size, one.key), Title: fmt.Sprintf("growth: search among %s records, %s", formatThousands(size), database),
			What: one.what, Unit: "ms", Goal: table.AtMost(150), Note: note,
		}, ms(took))
	}
	return nil
}
