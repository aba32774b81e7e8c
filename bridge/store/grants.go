package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"codex-bridge.example/bridge/decision"
)

// grantColumns are the columns of a row, in the order of scanGrant.
const grantColumns = `id, digest, workspace, tool, what, client, thread, created, expires`

func scanGrant(g *decision.Grant, scan func(...any) error) error {
	var created, expires string
	err := scan(&g.ID, &g.Digest, &g.Workspace, &g.Tool, &g.What, &g.Client, &g.Thread, &created, &expires)
	if err != nil {
		return err
	}
	if g.Created, err = time.Parse(timeLayout, created); err != nil {
		return err
	}
	g.Expires, err = time.Parse(timeLayout, expires)
	return err
}

// normalized returns the grant in the form that both databases hold.
func normalized(g decision.Grant) decision.Grant {
	for _, text := range []*string{&g.ID, &g.Digest, &g.Workspace, &g.Tool, &g.What, &g.Client, &g.Thread} {
		*text = decision.Truncate(*text)
	}
	g.Created, g.Expires = g.Created.UTC().Truncate(time.Microsecond), g.Expires.UTC().Truncate(time.Microsecond)
	return g
}

// AddGrant writes g and replaces a grant with its digest. It deletes grants that expired by
// g.Created, and all but the newest limit grants of the workspace.
func (s *Store) AddGrant(ctx context.Context, g decision.Grant, limit int) error {
	g = normalized(g)
	created, expires := g.Created.Format(timeLayout), g.Expires.Format(timeLayout)
	err := s.updateAll(ctx,
		statement{`DELETE FROM grants WHERE digest = $1`, []any{g.Digest}},
		// PostgreSQL would read all grants without the first condition.
		statement{`DELETE FROM grants WHERE (SELECT min(expires) FROM grants) <= $1 AND expires <= $1`, []any{created}},
		statement{`INSERT INTO grants (seq, ` + grantColumns + `)
			SELECT coalesce(max(seq), 0) + 1, $1, $2, $3, $4, $5, $6, $7, $8, $9 FROM grants`,
			[]any{g.ID, g.Digest, g.Workspace, g.Tool, g.What, g.Client, g.Thread, created, expires}},
		statement{`DELETE FROM grants WHERE workspace = $1 AND seq <=
			(SELECT seq FROM grants WHERE workspace = $2 ORDER BY seq DESC LIMIT 1 OFFSET $3)`, []any{g.Workspace, g.Workspace, limit}},
	)
	if err != nil {
		return fmt.Errorf("the grant can't be written in %s: %w", s.location, err)
	}
	return nil
}

// GrantByDigest returns the grant with a digest, expired or not.
func (s *Store) GrantByDigest(ctx context.Context, digest string) (g decision.Grant, found bool, err error) {
	err = scanGrant(&g, s.read.QueryRowContext(ctx, `SELECT `+grantColumns+` FROM grants WHERE digest = $1`, digest).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return decision.Grant{}, false, nil
	}
	if err != nil {
		return decision.Grant{}, false, fmt.Errorf("the grants in %s can't be read: %w", s.location, s.describe(err))
	}
	return g, true, nil
}

// Grants returns all grants, expired ones too, the oldest first.
func (s *Store) Grants(ctx context.Context) ([]decision.Grant, error) {
	all, err := queryAll(ctx, s.read, scanGrant, `SELECT `+grantColumns+` FROM grants ORDER BY seq`)
	if err != nil {
		return nil, fmt.Errorf("the grants in %s can't be read: %w", s.location, s.describe(err))
	}
	return all, nil
}

// RevokeGrant deletes a grant and reports whether there was one.
func (s *Store) RevokeGrant(ctx context.Context, id string) (bool, error) {
	n, err := s.deleteGrants(ctx, `DELETE FROM grants WHERE id = $1`, id)
	return n > 0, err
}

// RevokeGrants deletes all grants and returns their number.
func (s *Store) RevokeGrants(ctx context.Context) (int, error) {
	return s.deleteGrants(ctx, `DELETE FROM grants`)
}

func (s *Store) deleteGrants(ctx context.Context, statement string, args ...any) (int, error) {
	n, err := s.exec(ctx, statement, args...)
	if err != nil {
		return 0, fmt.Errorf("grants in %s can't be revoked: %w", s.location, err)
	}
	return int(n), nil
}
