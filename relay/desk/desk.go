// Package desk asks a second person about a command. A rule with approvers names groups of public
// SSH keys, and the command runs only if a member of each group has signed exactly this request
// in time. The desk does not trust the store or the webhook that carries a request and its
// answers: it compares a signature with the request in its own memory. A request has a random
// id, ends with the first result, and is never used again. The keys of the person who runs the
// bridge never count. Each failure, and silence, is a no.
package desk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
)

// Store keeps the requests for other machines and programs.
type Store interface {
	AddDeskRequest(ctx context.Context, r decision.DeskRequest, now time.Time) error
	DeskAnswers(ctx context.Context, id string) ([]decision.DeskAnswer, error)
	AddDeskAnswer(ctx context.Context, id string, a decision.DeskAnswer) error
	EndDeskRequest(ctx context.Context, id string) error
}

// Options configure a Desk.
type Options struct {
	Config func() config.Desk // the current configuration
	Store  func(context.Context) (Store, error)
	// Accept logs the approval of a request; reason names the approvers. After an error the call must not run.
	Accept func(ctx context.Context, r Request, reason string) error
	// Secret returns the secret of the webhook from the environment variable with a name.
	Secret func(variable string) string
	Now    func() time.Time
	// Wait waits until answers may have come; nil: for half a second.
	Wait func(context.Context)
	Log  *slog.Logger
}

// Desk asks approvers.
type Desk struct{ options Options }

// New returns a Desk.
func New(o Options) *Desk {
	if o.Wait == nil {
		o.Wait = func(ctx context.Context) {
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	}
	return &Desk{o}
}

// Ask returns nil if enough members of each group have approved the request in time. It sets the id, the times
// and the runner of the request. The error says for people why the command must not run.
func (d *Desk) Ask(ctx context.Context, r Request) error {
	cfg := d.options.Config()
	r.ID = strings.ToLower(rand.Text())
	r.Created = d.options.Now().UTC().Truncate(time.Second)
	r.Expires = r.Created.Add(time.Duration(cfg.Timeout))
	if _, err := membersOf(cfg, r.Quorums()); err != nil {
		return err
	}
	runner, err := parseKeys(cfg.Runner)
	if err != nil {
		return fmt.Errorf("approvals.desk.runner: %w", err)
	}
	r.Runner = runner.fingerprints()
	text, err := r.encode()
	if err != nil {
		return err
	}
	s, err := d.options.Store(ctx)
	if err != nil {
		return err
	}
	if err := s.AddDeskRequest(ctx, decision.DeskRequest{ID: r.ID, Text: text, Expires: r.Expires}, r.Created); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		if err := s.EndDeskRequest(ctx, r.ID); err != nil { // it ends by its time, too
			d.options.Log.Warn("an answered request stays in the list", "id", r.ID, "error", err)
		}
	}()
	d.options.Log.Info("a command waits for approvers", "id", r.ID, "groups", config.JoinQuorums(r.Quorums(), ", "), "until", r.Expires)
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(cfg.Timeout), errSilence)
	var posting sync.WaitGroup
	defer posting.Wait()
	defer cancel()
	if cfg.Webhook != "" {
		posting.Go(func() { d.post(ctx, cfg, s, r) })
	}
	reason, err := d.collect(ctx, s, r)
	if err != nil {
		return err
	}
	if err := d.options.Accept(ctx, r, reason); err != nil {
		return fmt.Errorf("the approval can't be written to the decision log: %w", err)
	}
	return nil
}

const endTimeout = 10 * time.Second

var errSilence = errors.New("no approver has answered in time")

// collect waits until enough members of each group have approved. It returns who has. A key counts once for a group,
// however often its answer comes.
func (d *Desk) collect(ctx context.Context, s Store, r Request) (reason string, err error) {
	for seen := 0; ; d.options.Wait(ctx) {
		list, err := s.DeskAnswers(ctx, r.ID)
		if cause := context.Cause(ctx); cause != nil {
			return "", cause
		}
		if err != nil {
			return "", err
		}
		if !d.options.Now().Before(r.Expires) {
			return "", errSilence
		}
		members, err := membersOf(d.options.Config(), r.Quorums()) // the configuration may have lost a key since
		if err != nil {
			return "", err
		}
		progress, problems := members.progress(r, list)
		for _, problem := range problems[min(seen, len(problems)):] {
			if problem != nil {
				d.options.Log.Warn("an answer of an approver does not count", "id", r.ID, "reason", problem)
			}
		}
		seen = len(list)
		switch {
		case len(progress.Declined) > 0:
			return "", fmt.Errorf("an approver, %s, has declined", progress.Declined[0])
		case len(progress.Missing) == 0:
			return "approved by " + progress.approvers() + "; request " + r.ID, nil
		}
	}
}

// CheckQuorum returns why a group has too few members who could approve; nil if it has enough.
func CheckQuorum(cfg config.Desk, need config.Quorum) error {
	_, err := membersOf(cfg, []config.Quorum{need})
	return err
}
