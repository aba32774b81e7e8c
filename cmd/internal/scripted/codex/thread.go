package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"codex-bridge/cmd/internal/scripted"
)

const (
	model    = scripted.Model
	provider = "mock"
)

// thread is one that is loaded.
type thread struct {
	id, path, cwd string
	approval      json.RawMessage
	sandbox       string
	hooks         []hook

	mu   sync.Mutex
	turn *turn // the one that runs; nil none
}

// opening are the params that open a thread, as far as they count here.
type opening struct {
	ThreadID       string          `json:"threadId"`
	Cwd            string          `json:"cwd"`
	ApprovalPolicy json.RawMessage `json:"approvalPolicy"`
	Sandbox        string          `json:"sandbox"`
	Config         map[string]json.RawMessage
}

// newID is a UUID, as codex's ids are.
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
	id := newID()
	s.open(m, id, func(p *opening) *fault {
		if err := os.MkdirAll(filepath.Dir(s.rollout(id)), 0o700); err != nil {
			return faultf("%v", err)
		}
		return note(s.rollout(id), "session_meta", object{
			"id": id, "cwd": p.Cwd, "approvalPolicy": p.ApprovalPolicy, "sandbox": p.Sandbox, "cli_version": Version, "model_provider": provider,
		})
	})
}

func (s *Server) threadResume(m message) {
	var p opening
	_ = json.Unmarshal(m.Params, &p) // open says what is wrong with it
	s.open(m, p.ThreadID, func(p *opening) *fault {
		if err := p.remember(s.rollout(p.ThreadID)); err != nil {
			return faultf("no rollout found for thread id %s", p.ThreadID)
		}
		return nil
	})
}

// threadRead returns the folder and the file of a thread, loaded or not.
func (s *Server) threadRead(m message) {
	var p opening
	_ = json.Unmarshal(m.Params, &p) // no thread has the id ""
	path := s.rollout(p.ThreadID)
	if err := p.remember(path); err != nil {
		s.answer(m.ID, nil, faultf("thread not loaded: %s", p.ThreadID))
		return
	}
	s.answer(m.ID, object{"thread": object{"id": p.ThreadID, "path": path, "cwd": p.Cwd}}, nil)
}

// remember fills in what the thread was started with, from its file.
func (p *opening) remember(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var first struct{ Payload opening }
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

// open loads a thread and says what is in force in it.
func (s *Server) open(m message, id string, prepare func(*opening) *fault) {
	var p opening
	if err := json.Unmarshal(m.Params, &p); err != nil {
		s.answer(m.ID, nil, faultf("Invalid request: %v", err))
		return
	}
	if f := prepare(&p); f != nil {
		s.answer(m.ID, nil, f)
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
	s.answer(m.ID, object{
		"thread": shown, "model": model, "modelProvider": provider, "serviceTier": nil, "cwd": t.cwd, "runtimeWorkspaceRoots": []string{t.cwd},
		"instructionSources": []any{}, "approvalPolicy": t.approval, "approvalsReviewer": "user", "sandbox": policyOf(t.sandbox),
		"activePermissionProfile": nil, "reasoningEffort": nil,
	}, nil)
	s.tell("thread/started", object{"thread": shown})
}

// policyOf is a sandbox as the answer tells it.
func policyOf(mode string) object {
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
	s.answer(m.ID, object{"data": ids, "nextCursor": nil}, nil)
}

// threadArchive puts a thread away. Measured: codex says that it is not loaded any more and
// that it is archived, and no thread/closed.
func (s *Server) threadArchive(m message) {
	t, f := s.thread(m)
	if f != nil {
		s.answer(m.ID, nil, f)
		return
	}
	s.guarded.Lock()
	delete(s.threads, t.id)
	s.guarded.Unlock()
	s.tell("thread/status/changed", object{"threadId": t.id, "status": object{"type": "notLoaded"}})
	if err := os.Remove(t.path); err != nil { // the real one moves it
		s.answer(m.ID, nil, faultf("%v", err))
		return
	}
	s.answer(m.ID, object{}, nil)
	s.tell("thread/archived", object{"threadId": t.id})
}

// thread is the loaded thread that a request is about.
func (s *Server) thread(m message) (*thread, *fault) {
	var p struct {
		ThreadID string `json:"threadId"`
	}
	_ = json.Unmarshal(m.Params, &p) // no thread has the id ""
	s.guarded.Lock()
	defer s.guarded.Unlock()
	if t := s.threads[p.ThreadID]; t != nil {
		return t, nil
	}
	return nil, faultf("thread not found: %s", p.ThreadID)
}

// note writes a line into a rollout file, where the bridge looks calls up.
func note(path, kind string, payload object) *fault {
	line, err := json.Marshal(object{"timestamp": time.Now().UTC().Format(time.RFC3339Nano), "type": kind, "payload": payload})
	if err != nil {
		return faultf("%v", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return faultf("%v", err)
	}
	_, err = f.Write(append(line, '\n'))
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return faultf("%v", err)
	}
	return nil
}
