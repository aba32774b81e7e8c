package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// checkComplete returns an error for a truncated database. SQLite detects truncation only if the
// write-ahead log is empty. Otherwise it reads missing pages as empty, and tables seem to have
// fewer rows.
//
// The function does not open the file: closing it would release SQLite's locks of this process.
func (s *Store) checkComplete(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if size := info.Size(); size < headerSize {
		return fmt.Errorf("%s is truncated: it has %d bytes, fewer than the header of a database; %s", path, size, hintDamaged)
	}
	// During this transaction, each used page is in the file or in the write-ahead log.
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", path, s.describe(err))
	}
	defer func() { _ = tx.Rollback() }() // the transaction only reads
	var tables, pages, size int64
	for _, one := range []struct {
		query string
		to    *int64
	}{{"SELECT count(*) FROM sqlite_schema", &tables}, {"PRAGMA page_count", &pages}, {"PRAGMA page_size", &size}} {
		if err := tx.QueryRowContext(ctx, one.query).Scan(one.to); err != nil {
			return fmt.Errorf("%s: %w", path, s.describe(err))
		}
	}
	if info, err = os.Lstat(path); err != nil {
		return err
	}
	have := info.Size() / size // an incomplete page counts as missing
	if have >= pages {
		return nil
	}
	there, err := walPages(path+"-wal", size)
	if err != nil {
		return err
	}
	for page := have + 1; page <= pages; page++ {
		if !there[page] {
			return fmt.Errorf("%s is truncated: it has %d bytes, and page %d of %d, each of %d bytes, is missing; %s",
				path, info.Size(), page, pages, size, hintDamaged)
		}
	}
	return nil
}

// headerSize is the number of bytes of the header of a database. This and the offsets below are
// from the file format of SQLite 3.
const headerSize = 100

// walPages returns the numbers of the pages in a write-ahead log. SQLite holds no locks on that
// file.
func walPages(path string, size int64) (map[int64]bool, error) {
	const header, frame, salt, pageSalt, saltSize = 32, 24, 16, 8, 8
	there := make(map[int64]bool)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return there, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	begin, one := make([]byte, header), make([]byte, frame)
	at := func(b []byte, offset int64) error { _, err := f.ReadAt(b, offset); return err }
	if err = at(begin, 0); err == nil {
		for offset := int64(header); ; offset += frame + size {
			if err = at(one, offset); err != nil || !bytes.Equal(one[pageSalt:][:saltSize], begin[salt:][:saltSize]) {
				break // the end, or frames from before the last reset
			}
			there[int64(binary.BigEndian.Uint32(one))] = true
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return there, err
}
