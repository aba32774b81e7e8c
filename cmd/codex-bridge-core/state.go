package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/decisionlog"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/relay/approvals"
)

// gateFolder is the folder in the state folder with a file for each thread.
const gateFolder = "gates"

// database is the file in the state folder of codex-bridge.
const database = "state.db"

// state implements core.State by files in the state folder. The remembered approvals end with the process.
type state struct {
	*core.Log
	file   *decisionlog.Log
	folder string
	grants grants

	mu sync.Mutex // of the files of gates
}

// newState returns the state of the state folder. The first decision, or gate, creates it.
func newState(secrets []string, log *slog.Logger) (*state, error) {
	folder, err := statefolder.Path()
	if err != nil {
		return nil, fmt.Errorf("can't find the state folder: %w", err)
	}
	// codex-bridge has the gates of threads in its database, and neither program reads those of the other.
	if _, err := os.Stat(filepath.Join(folder, database)); err == nil {
		return nil, &settings.RefusedArgs{Problem: fmt.Sprintf("the state folder %s is that of codex-bridge; name another one with %s", folder, statefolder.Env)}
	}
	s := &state{folder: folder, file: decisionlog.New(folder)}
	s.Log = core.NewLog(secrets, s.file.Append, log)
	return s, nil
}

// Close writes the decisions that wait, and closes the log.
func (s *state) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), core.StateGrace)
	defer cancel()
	s.Log.Close(ctx)
	return s.file.Close()
}

// gate is the file of a thread.
type gate struct {
	Gated bool   `json:"gated"`
	Known string `json:"known"`
	Roots string `json:"roots"`
}

// gateFile returns the path of the file of a thread. The id may have any characters.
func (s *state) gateFile(thread string) string {
	sum := sha256.Sum256([]byte(thread))
	return filepath.Join(s.folder, gateFolder, hex.EncodeToString(sum[:])+".json")
}

// Gate implements guard.GateRecord.
func (s *state) Gate(_ context.Context, thread string) (gated bool, known, roots string, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, found, err := s.readGate(thread)
	return g.Gated, g.Known, g.Roots, found, err
}

func (s *state) readGate(thread string) (g gate, found bool, err error) {
	text, err := os.ReadFile(s.gateFile(thread))
	if errors.Is(err, fs.ErrNotExist) {
		return g, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &g)
	}
	if err != nil {
		return gate{}, false, fmt.Errorf("whether the bridge asks about the commands of a thread can't be read: %w", err)
	}
	return g, true, nil
}

// SetGate implements guard.GateRecord.
func (s *state) SetGate(_ context.Context, thread string, gated bool, known, roots string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, _, err := s.readGate(thread)
	if err != nil {
		return err
	}
	g.Gated = gated
	if g.Known == "" {
		g.Known = known
	}
	if roots != "" {
		g.Roots = roots
	}
	if err := s.writeGate(thread, g); err != nil {
		return fmt.Errorf("whether the bridge asks about the commands of a thread can't be written: %w", err)
	}
	return nil
}

// writeGate replaces the file of a thread, so that a crash leaves the old or the new one.
func (s *state) writeGate(thread string, g gate) (err error) {
	path := s.gateFile(thread)
	if err := errors.Join(statefolder.Ensure(s.folder), statefolder.Ensure(filepath.Dir(path))); err != nil {
		return err
	}
	text, err := json.Marshal(g)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(fmt.Sprintf("%s.%d.new", path, os.Getpid()), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return statefolder.Sync(filepath.Dir(path))
}

// DeleteGate implements guard.GateRecord.
func (s *state) DeleteGate(_ context.Context, thread string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Remove(s.gateFile(thread)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Grants implements core.State.
func (s *state) Grants(context.Context) (approvals.Store, error) { return &s.grants, nil }

// grants are the remembered approvals of this process.
type grants struct {
	mu  sync.Mutex
	all []decision.Grant // the oldest first
}

// AddGrant implements approvals.Store.
func (g *grants) AddGrant(_ context.Context, added decision.Grant, limit int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = slices.DeleteFunc(g.all, func(old decision.Grant) bool {
		return old.Digest == added.Digest || !added.Created.Before(old.Expires)
	})
	g.all = append(g.all, added)
	newer := 0
	for i := len(g.all) - 1; i >= 0; i-- {
		if g.all[i].Workspace != added.Workspace {
			continue
		}
		if newer++; newer > limit {
			g.all = slices.Delete(g.all, i, i+1)
		}
	}
	return nil
}

// GrantByDigest implements approvals.Store.
func (g *grants) GrantByDigest(_ context.Context, digest string) (decision.Grant, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.all, func(one decision.Grant) bool { return one.Digest == digest })
	if i < 0 {
		return decision.Grant{}, false, nil
	}
	return g.all[i], true, nil
}

// Grants implements approvals.Store.
func (g *grants) Grants(context.Context) ([]decision.Grant, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.all), nil
}

// RevokeGrant implements approvals.Store.
func (g *grants) RevokeGrant(_ context.Context, id string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := len(g.all)
	g.all = slices.DeleteFunc(g.all, func(one decision.Grant) bool { return one.ID == id })
	return len(g.all) < before, nil
}
