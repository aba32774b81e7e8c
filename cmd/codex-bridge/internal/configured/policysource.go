package configured

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge/bundle"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/internal/settings"
)

const (
	// startPull is how long a start waits for the first bundle.
	startPull = 10 * time.Second
	// maxPull is how long a pull may take.
	maxPull = 30 * time.Second
	// retryPull is how soon a pull is tried again if there is no bundle.
	retryPull = 30 * time.Second
	// minPull is the least time between two pulls.
	minPull = 500 * time.Millisecond
)

// sourceKey identifies a policy source.
type sourceKey struct{ url, root string }

// sourceClients are the clients of this process. A client remembers the newest bundle that it has seen.
var sourceClients sync.Map // sourceKey → *bundle.Client

// sourceClient returns the client of a policy source.
func sourceClient(from config.PolicySource) (*bundle.Client, error) {
	key := sourceKey{from.URL, from.Root}
	if one, ok := sourceClients.Load(key); ok {
		return one.(*bundle.Client), nil
	}
	folder, err := statefolder.Path()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(from.URL))
	one, _ := sourceClients.LoadOrStore(key, bundle.New(bundle.Options{
		URL: from.URL, Root: from.Root, Folder: filepath.Join(folder, "bundles", hex.EncodeToString(sum[:8])), Check: checkBundle, Now: time.Now,
	}))
	return one.(*bundle.Client), nil
}

// checkBundle returns an error for a bundle that does not load.
func checkBundle(c *bundle.Content) error {
	_, err := config.LoadBundle(bundleOf(c), config.Options{Home: config.Discover("").Home, Check: settings.CheckPolicy})
	return err
}

// bundleOf returns a verified bundle as one of the configuration.
func bundleOf(c *bundle.Content) config.Bundle {
	return config.Bundle{Name: c.Name(), Text: c.Text, TableName: c.TableName(), Table: c.Table}
}

// LoadBundle returns the last verified bundle of a policy source.
func LoadBundle(from config.PolicySource) config.Bundle {
	client, err := sourceClient(from)
	if err != nil {
		return config.Bundle{Missing: problem.Text(err)}
	}
	b := config.Bundle{File: client.File()}
	content, err := client.Load()
	if err == nil {
		err = checkBundle(content) // of a newer bridge
	}
	if err != nil {
		b.Missing = fmt.Sprintf("no bundle of policy from %s counts: %v", client.URL(), err)
		return b
	}
	b = bundleOf(content)
	b.File = client.File()
	if from.OnStale == config.DenyStale && isStale(from, content) {
		b.Missing = fmt.Sprintf("%s of %s is stale: it was last confirmed at %s, and policy_source.max_age is %s",
			b.Name, client.URL(), content.Refreshed.Format(time.RFC3339), from.MaxAge)
	}
	return b
}

// isStale reports whether a bundle was not confirmed for too long.
func isStale(from config.PolicySource, c *bundle.Content) bool {
	return time.Since(c.Refreshed) > time.Duration(from.MaxAge)
}

// loadBundleAtStart is LoadBundle; if there is no bundle that counts, it pulls one.
func loadBundleAtStart(from config.PolicySource) config.Bundle {
	b := LoadBundle(from)
	if b.Missing == "" {
		return b
	}
	ctx, cancel := context.WithTimeout(context.Background(), startPull)
	defer cancel()
	done := make(chan error, 1)
	go func() { // ends with the pull; a file system that hangs holds it up
		_, err := PullBundle(ctx, from, time.Duration(from.Refresh)*4/5)
		done <- err
	}()
	err := context.DeadlineExceeded
	select {
	case err = <-done:
	case <-ctx.Done():
	}
	after := LoadBundle(from)
	if after.Missing != "" && err != nil {
		after.Missing += fmt.Sprintf("; the pull failed: %v", err)
	}
	return after
}

// AtStart returns files for a start, which may pull the first bundle.
func AtStart(files config.Options) config.Options {
	files.Bundle = loadBundleAtStart
	return files
}

// PullBundle pulls the bundle of a policy source, if the last pull is minAge ago.
func PullBundle(ctx context.Context, from config.PolicySource, minAge time.Duration) (bundle.Pulled, error) {
	client, err := sourceClient(from)
	if err != nil {
		return bundle.Pulled{}, err
	}
	folder, err := statefolder.Path()
	if err != nil {
		return bundle.Pulled{}, err
	}
	if err := statefolder.Ensure(folder); err != nil {
		return bundle.Pulled{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxPull)
	defer cancel()
	return client.Pull(ctx, minAge)
}

// RequireBundle returns an error if the bundle of the policy source does not count.
func RequireBundle(cfg *config.Config) error {
	if cfg.Policy.Missing == "" {
		return nil
	}
	return exit.RefuseArgs(fmt.Sprintf("%s (%s); see \"codex-bridge policy status\"", cfg.Policy.Missing, settings.Origin(cfg, "policy_source")))
}

// sourceRefresher pulls the bundle of the configuration's policy source regularly.
type sourceRefresher struct {
	source  atomic.Pointer[config.PolicySource]
	changed chan struct{} // the source has changed
	recheck chan struct{} // the bundle may have changed, or its age
	log     *slog.Logger
}

func newSourceRefresher(from config.PolicySource, log *slog.Logger) *sourceRefresher {
	r := &sourceRefresher{changed: make(chan struct{}, 1), recheck: make(chan struct{}, 1), log: log}
	r.source.Store(&from)
	return r
}

// setSource sets the source.
func (r *sourceRefresher) setSource(from config.PolicySource) {
	if *r.source.Swap(&from) != from {
		signalOnce(r.changed)
	}
}

func signalOnce(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default: // it has a signal already
	}
}

// run pulls until ctx ends. Of several processes, the first pulls, and the others see its file change.
func (r *sourceRefresher) run(ctx context.Context) {
	last := ""
	for {
		from := *r.source.Load()
		var due <-chan time.Time // never, without a source
		if from.URL != "" {
			due = time.After(r.wait(from))
		}
		select {
		case <-ctx.Done():
			return
		case <-r.changed:
		case <-due:
		}
		if from = *r.source.Load(); from.URL == "" {
			continue
		}
		p, err := PullBundle(ctx, from, time.Duration(from.Refresh)*4/5)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && p.Asked && (p.Before == nil || p.Before.Version != p.After.Version):
			r.log.Info("a new bundle of policy was pulled", "bundle", p.After.Name())
		case err != nil && problem.Text(err) != last:
			r.log.Warn("the bundle of policy can't be refreshed; the last verified one stays", "error", err)
		}
		last = ""
		if err != nil {
			last = problem.Text(err)
		}
		signalOnce(r.recheck)
	}
}

// wait returns how long to wait for the next pull, or for the moment at which the bundle becomes stale.
func (r *sourceRefresher) wait(from config.PolicySource) time.Duration {
	refresh := time.Duration(from.Refresh)
	client, err := sourceClient(from)
	if err != nil {
		return refresh
	}
	content, err := client.Load()
	if err != nil {
		return min(refresh, retryPull)
	}
	at := content.Refreshed
	if attempt, ok := client.LastAttempt(); ok && attempt.At.After(at) {
		at = attempt.At
	}
	due := time.Until(at.Add(refresh*9/10 + rand.N(refresh/5+1))) //nolint:gosec // spreads the load of a server
	if stale := time.Until(content.Refreshed.Add(time.Duration(from.MaxAge))); stale > 0 {
		due = min(due, stale+minPull)
	}
	return max(due, minPull)
}

// SourceStatus describes the bundle of a policy source. The JSON names are stable.
type SourceStatus struct {
	URL         string   `json:"url"`
	Root        string   `json:"root"`
	Version     int64    `json:"version,omitempty"`
	RootVersion int64    `json:"rootVersion,omitempty"`
	Signers     []string `json:"signers,omitempty"`
	Expires     string   `json:"expires,omitempty"`
	Refreshed   string   `json:"refreshed,omitempty"`
	AgeMs       int64    `json:"ageMs,omitempty"`
	Stale       bool     `json:"stale"`
	OnStale     string   `json:"onStale"`
	Attempt     string   `json:"lastAttempt,omitempty"`
	Error       string   `json:"lastError,omitempty"` // of the last attempt
	Missing     string   `json:"missing,omitempty"`   // why no thread opens
}

// StatusOfSource returns the status of a configuration's policy source; nil if it has none.
func StatusOfSource(cfg *config.Config) *SourceStatus {
	from := cfg.PolicySource
	if from.URL == "" {
		return nil
	}
	s := &SourceStatus{Root: from.Root, OnStale: from.OnStale, Missing: cfg.Policy.Missing}
	client, err := sourceClient(from)
	if err != nil {
		s.Error = problem.Text(err)
		return s
	}
	s.URL = client.URL()
	if attempt, ok := client.LastAttempt(); ok {
		s.Attempt, s.Error = attempt.At.Format(time.RFC3339), attempt.Error
	}
	content, err := client.Load()
	if err != nil {
		if s.Error == "" && !errors.Is(err, bundle.ErrNone) {
			s.Error = problem.Text(err)
		}
		return s
	}
	s.Version, s.RootVersion, s.Signers = content.Version, content.RootVersion, content.Signers
	s.Expires, s.Refreshed = content.Expires.Format(time.RFC3339), content.Refreshed.Format(time.RFC3339)
	s.AgeMs, s.Stale = time.Since(content.Refreshed).Milliseconds(), isStale(from, content)
	return s
}
