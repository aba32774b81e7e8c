package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// grantsSince is the first version of the schema that has grants. A store that is
// only read may be older: it has none.
const grantsSince = 2

// AddGrant remembers g in place of one with its digest. Of those of its workspace
// the newest most stay; what ended by g.Created goes.
func (s *Store) AddGrant(ctx context.Context, g Grant, most int) error {
	g = g.kept()
	created, expires := g.Created.Format(stampForm), g.Expires.Format(stampForm)
	err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM grants WHERE digest = $1 OR expires <= $2`, g.Digest, created); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO grants (seq, `+grantColumns+`)
			SELECT coalesce(max(seq), 0) + 1, $1, $2, $3, $4, $5, $6, $7, $8, $9 FROM grants`,
			g.ID, g.Digest, g.Workspace, g.Tool, g.What, g.Client, g.Thread, created, expires); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf(`DELETE FROM grants WHERE workspace = $1 AND seq NOT IN
			(SELECT seq FROM grants WHERE workspace = $2 ORDER BY seq DESC LIMIT %d)`, most), g.Workspace, g.Workspace)
		return err
	})
	if err != nil {
		return fmt.Errorf("the grant can't be kept in %s: %w", s.where, err)
	}
	return nil
}

// GrantOf is the grant with that digest, whether it still counts or not.
func (s *Store) GrantOf(ctx context.Context, digest string) (g Grant, found bool, err error) {
	if s.version < grantsSince {
		return Grant{}, false, nil
	}
	err = g.from(s.read.QueryRowContext(ctx, `SELECT `+grantColumns+` FROM grants WHERE digest = $1`, digest).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Grant{}, false, nil
	}
	if err != nil {
		return Grant{}, false, fmt.Errorf("the grants in %s can't be read: %w", s.where, s.failed(err))
	}
	return g, true, nil
}

// Grants are all of them, the oldest first, those that have ended among them.
func (s *Store) Grants(ctx context.Context) ([]Grant, error) {
	if s.version < grantsSince {
		return nil, nil
	}
	all, err := s.grants(ctx)
	if err != nil {
		return nil, fmt.Errorf("the grants in %s can't be read: %w", s.where, s.failed(err))
	}
	return all, nil
}

func (s *Store) grants(ctx context.Context) ([]Grant, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT `+grantColumns+` FROM grants ORDER BY seq`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []Grant
	for rows.Next() {
		var g Grant
		if err := g.from(rows.Scan); err != nil {
			return nil, err
		}
		all = append(all, g)
	}
	return all, rows.Err()
}

// RevokeGrant takes a grant away, and tells whether it was there.
func (s *Store) RevokeGrant(ctx context.Context, id string) (bool, error) {
	n, err := s.revoke(ctx, `DELETE FROM grants WHERE id = $1`, id)
	return n > 0, err
}

// RevokeGrants takes all grants away, and tells how many there were.
func (s *Store) RevokeGrants(ctx context.Context) (int, error) {
	return s.revoke(ctx, `DELETE FROM grants`)
}

func (s *Store) revoke(ctx context.Context, statement string, args ...any) (int, error) {
	var n int64
	err := s.change(ctx, func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		n, err = result.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("grants in %s can't be revoked: %w", s.where, err)
	}
	return int(n), nil
}
