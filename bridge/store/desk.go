package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"codex-bridge.example/bridge/decision"
)

// maxDeskAnswers bounds the answers to a request, and maxDeskAnswer the length of each in bytes.
const (
	maxDeskAnswers = 64
	maxDeskAnswer  = 16 << 10
)

func scanDeskRequest(r *decision.DeskRequest, scan func(...any) error) error {
	var expires string
	err := scan(&r.ID, &r.Text, &expires)
	if err == nil {
		r.Expires, err = time.Parse(timeLayout, expires)
	}
	return err
}

// AddDeskRequest writes a request, and deletes those that have expired at now.
func (s *Store) AddDeskRequest(ctx context.Context, r decision.DeskRequest, now time.Time) error {
	err := s.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM desk_requests WHERE expires <= $1`, now.UTC().Format(timeLayout)); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM desk_answers WHERE id NOT IN (SELECT id FROM desk_requests)`); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO desk_requests (id, request, expires) VALUES ($1, $2, $3)`, r.ID, r.Text, r.Expires.UTC().Format(timeLayout))
		return err
	})
	if err != nil {
		return fmt.Errorf("the request for approval can't be written in %s: %w", s.location, err)
	}
	return nil
}

// DeskRequests returns the requests, also expired ones, the one that expires first first.
func (s *Store) DeskRequests(ctx context.Context) ([]decision.DeskRequest, error) {
	all, err := queryAll(ctx, s.read, scanDeskRequest, `SELECT id, request, expires FROM desk_requests ORDER BY expires, id`)
	if err != nil {
		return nil, fmt.Errorf("the requests for approval in %s can't be read: %w", s.location, s.describe(err))
	}
	return all, nil
}

// ErrNoDeskRequest means that no request with an id waits for an answer.
var ErrNoDeskRequest = errors.New("no request with this id waits for an answer")

// AddDeskAnswer writes an answer to a request that waits.
func (s *Store) AddDeskAnswer(ctx context.Context, id string, a decision.DeskAnswer) error {
	if len(a.Decision)+len(a.Signature) > maxDeskAnswer {
		return fmt.Errorf("the answer is longer than %d bytes", maxDeskAnswer)
	}
	n, err := s.exec(ctx, `INSERT INTO desk_answers (seq, id, decision, signature)
		SELECT (SELECT coalesce(max(seq), 0) + 1 FROM desk_answers), id, $2, $3 FROM desk_requests
		WHERE id = $1 AND (SELECT count(*) FROM desk_answers WHERE id = $4) < $5`, id, a.Decision, a.Signature, id, maxDeskAnswers)
	switch {
	case err != nil:
		return fmt.Errorf("the answer can't be written in %s: %w", s.location, err)
	case n == 0:
		return ErrNoDeskRequest
	}
	return nil
}

// DeskAnswers returns the answers to a request, the oldest first.
func (s *Store) DeskAnswers(ctx context.Context, id string) ([]decision.DeskAnswer, error) {
	scan := func(a *decision.DeskAnswer, scan func(...any) error) error { return scan(&a.Decision, &a.Signature) }
	all, err := queryAll(ctx, s.read, scan, `SELECT decision, signature FROM desk_answers WHERE id = $1 ORDER BY seq`, id)
	if err != nil {
		return nil, fmt.Errorf("the answers in %s can't be read: %w", s.location, s.describe(err))
	}
	return all, nil
}

// EndDeskRequest deletes a request with its answers.
func (s *Store) EndDeskRequest(ctx context.Context, id string) error {
	err := s.update(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM desk_requests WHERE id = $1`, id)
		if err == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM desk_answers WHERE id = $1`, id)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the request for approval can't be deleted in %s: %w", s.location, err)
	}
	return nil
}
