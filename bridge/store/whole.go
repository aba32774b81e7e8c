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

// whole refuses a database that was cut. SQLite sees that where the write-ahead log holds
// nothing; else it reads what is missing as empty pages, and tables can seem to have fewer rows
// than they had.
//
// The file itself is not opened: closing it would take SQLite's locks of it from this process.
func (s *Store) whole(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if size := info.Size(); size < headerSize {
		return fmt.Errorf("%s was cut: it has %d bytes, fewer than the header of a database; %s", path, size, lostPages)
	}
	// Pages that are in use are in the file or in the write-ahead log, as long as this reads.
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", path, s.failed(err))
	}
	defer func() { _ = tx.Rollback() }() // it only read
	var tables, pages, size int64
	for _, one := range []struct {
		query string
		to    *int64
	}{{"SELECT count(*) FROM sqlite_schema", &tables}, {"PRAGMA page_count", &pages}, {"PRAGMA page_size", &size}} {
		if err := tx.QueryRowContext(ctx, one.query).Scan(one.to); err != nil {
			return fmt.Errorf("%s: %w", path, s.failed(err))
		}
	}
	if info, err = os.Lstat(path); err != nil {
		return err
	}
	have := info.Size() / size // a page that is there in part is missing
	if have >= pages {
		return nil
	}
	there, err := logged(path+"-wal", size)
	if err != nil {
		return err
	}
	for page := have + 1; page <= pages; page++ {
		if !there[page] {
			return fmt.Errorf("%s was cut: it has %d bytes, and page %d of %d, each of %d, is neither there nor in the write-ahead log; %s",
				path, info.Size(), page, pages, size, lostPages)
		}
	}
	return nil
}

// headerSize is what every database begins with, in bytes. This and what follows are of the
// file format of SQLite 3.
const headerSize = 100

// logged are the pages that stand in a write-ahead log. SQLite has no locks of that file.
func logged(path string, size int64) (map[int64]bool, error) {
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
				break // the end, or what was left from before the log began anew
			}
			there[int64(binary.BigEndian.Uint32(one))] = true
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return there, err
}
