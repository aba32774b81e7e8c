package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"codex-bridge.example/cmd/internal/scripted"
)

const (
	model    = scripted.Model
	provider = "mock"
)

// thread is a loaded thread.
type thread struct {
	id, path, cwd string
	approval      json.RawMessage
	sandbox       string
	hooks         []hook

	mu   sync.Mutex
	turn *turn // the running turn; nil without one
}

// openParams are the params that open a thread, as far as the server uses them.
type openParams struct {
	ThreadID       string          `json:"threadId"`
	Cwd            string          `json:"cwd"`
	ApprovalPolicy json.RawMessage `json:"approvalPolicy"`
	Sandbox        string          `json:"sandbox"`
	Config         map[string]json.RawMessage
}

// newID returns a UUID, like Codex's ids.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (s *Server) rollout(id string) string {
	return filepath.Join(s.home, "sessions", "rollout-"+id+".jsonl")
}

func (s *Server) threadStart(m message) {
	s.openThread(m, newID(), func(*openParams) *rpcError { return nil })
}

// recordTurn records the start of a turn. Measured: a thread has no file before its first turn, so a
// thread without a turn is gone after a restart.
func (t *thread) recordTurn(id string) *rpcError {
	if _, err := os.Stat(t.path); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
			return errorf("%v", err)
		}
		if f := appendRollout(t.path, "session_meta", object{
			"id": t.id, "cwd": t.cwd, "approvalPolicy": t.approval, "sandbox": t.sandbox, "cli_version": Version, "model_provider": provider,
		}); f != nil {
			return f
		}
	}
	return appendRollout(t.path, "turn_context", object{
		"turn_id": id, "cwd": t.cwd, "approval_policy": t.approval, "sandbox_policy": object{"type": t.sandbox},
	})
}

func (s *Server) threadResume(m message) {
	var p openParams
	_ = json.Unmarshal(m.Params, &p) // openThread reports errors
	s.openThread(m, p.ThreadID, func(p *openParams) *rpcError {
		if err := p.fillFromRollout(s.rollout(p.ThreadID)); err != nil {
			return errorf("no rollout found for thread id %s", p.ThreadID)
		}
		return nil
	})
}

// threadRead returns the folder and the file of a thread, loaded or not.
func (s *Server) threadRead(m message) {
	var p openParams
	_ = json.Unmarshal(m.Params, &p) // no thread has the id ""
	path := s.rollout(p.ThreadID)
	if t, f := s.thread(m); f == nil {
		p.Cwd = t.cwd
	} else if err := p.fillFromRollout(path); err != nil {
		s.respond(m.ID, nil, errorf("thread not loaded: %s", p.ThreadID))
		return
	}
	s.respond(m.ID, object{"thread": object{"id": p.ThreadID, "path": path, "cwd": p.Cwd}}, nil)
}

// fillFromRollout adds the parameters of the thread's start from its file.
func (p *openParams) fillFromRollout(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var first struct{ Payload openParams }
	if err := json.NewDecoder(f).Decode(&first); err != nil {
		return err
	}
	if p.Cwd == "" {
		p.Cwd = first.Payload.Cwd
	}
	if p.ApprovalPolicy == nil {
		p.ApprovalPolicy = first.Payload.ApprovalPolicy
	}
	if p.Sandbox == "" {
		p.Sandbox = first.Payload.Sandbox
	}
	return nil
}

// openThread loads a thread and responds with its effective settings.
func (s *Server) openThread(m message, id string, prepare func(*openParams) *rpcError) {
	var p openParams
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.respond(m.ID, nil, errorf("Invalid request: %v", err))
		return
	}
	if f := prepare(&p); f != nil {
		s.respond(m.ID, nil, f)
		return
	}
	t := &thread{id: id, path: s.rollout(id), cwd: p.Cwd, approval: p.ApprovalPolicy, sandbox: p.Sandbox, hooks: hooksOf(p.Config)}
	s.guarded.Lock()
	s.threads[id] = t
	s.guarded.Unlock()
	now := time.Now().Unix()
	shown := object{
		"id": id, "sessionId": id, "preview": "", "ephemeral": false, "modelProvider": provider, "model": model, "createdAt": now, "updatedAt": now,
		"status": object{"type": "idle"}, "path": t.path, "cwd": t.cwd, "cliVersion": Version, "source": "vscode", "turns": []any{},
	}
	s.respond(m.ID, object{
		"thread": shown, "model": model, "modelProvider": provider, "serviceTier": nil, "cwd": t.cwd, "runtimeWorkspaceRoots": []string{t.cwd},
		"instructionSources": []any{}, "approvalPolicy": t.approval, "approvalsReviewer": "user", "sandbox": sandboxPolicy(t.sandbox),
		"activePermissionProfile": nil, "reasoningEffort": nil,
	}, nil)
	s.send("thread/started", object{"thread": shown})
}

// sandboxPolicy returns a sandbox as in the response.
func sandboxPolicy(mode string) object {
	if mode == "workspace-write" {
		return object{"type": "workspaceWrite", "writableRoots": []any{}, "networkAccess": false, "excludeTmpdirEnvVar": false, "excludeSlashTmp": false}
	}
	return object{"type": "readOnly", "networkAccess": false}
}

// threadLoadedList lists the loaded threads on one page.
func (s *Server) threadLoadedList(m message) {
	s.guarded.Lock()
	ids := slices.Sorted(maps.Keys(s.threads))
	s.guarded.Unlock()
	s.respond(m.ID, object{"data": ids, "nextCursor": nil}, nil)
}

// threadArchive archives a thread. Measured: Codex sends that it is no longer loaded and that it is
// archived, but no thread/closed.
func (s *Server) threadArchive(m message) {
	t, f := s.thread(m)
	if f != nil {
		s.respond(m.ID, nil, f)
		return
	}
	s.guarded.Lock()
	delete(s.threads, t.id)
	s.guarded.Unlock()
	s.send("thread/status/changed", object{"threadId": t.id, "status": object{"type": "notLoaded"}})
	if err := os.Remove(t.path); err != nil { // Codex moves the file instead
		s.respond(m.ID, nil, errorf("%v", err))
		return
	}
	s.respond(m.ID, object{}, nil)
	s.send("thread/archived", object{"threadId": t.id})
}

// thread returns the loaded thread of a request.
func (s *Server) thread(m message) (*thread, *rpcError) {
	var p struct {
		ThreadID string `json:"threadId"`
	}
	_ = json.Unmarshal(m.Params, &p) // no thread has the id ""
	s.guarded.Lock()
	defer s.guarded.Unlock()
	if t := s.threads[p.ThreadID]; t != nil {
		return t, nil
	}
	return nil, errorf("thread not found: %s", p.ThreadID)
}

// appendRollout appends a line to a rollout file, in which the bridge looks up calls.
func appendRollout(path, kind string, payload object) *rpcError {
	line, err := json.Marshal(object{"timestamp": time.Now().UTC().Format(time.RFC3339Nano), "type": kind, "payload": payload})
	if err != nil {
		return errorf("%v", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errorf("%v", err)
	}
	_, err = f.Write(append(line, '\n'))
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return errorf("%v", err)
	}
	return nil
}
