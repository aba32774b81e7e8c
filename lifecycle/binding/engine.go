package binding

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/rpc"
)

// Engine is a context engine as described by the host. Read ignores its name.
type Engine struct {
	ID              string
	Version         *string // nil means not given, here and below
	OwnsCompaction  bool
	TurnMaintenance *string
	Citations       json.RawMessage // any JSON
	TokenBudget     *int            // its context window
	Compaction      Compaction      // the part of the window that stays free
	Projection      *Projection
}

// legacyEngine is the id that means no engine.
const legacyEngine = "legacy"

// ReadEngine reads {id, name, version, ownsCompaction, turnMaintenanceMode, citationsMode,
// contextTokenBudget, reserveTokens, reserveTokensFloor, projection: {epoch, fingerprint}}. Only
// true owns the compaction. A null member counts as omitted, and null is no engine.
func ReadEngine(v rpc.Value) (*Engine, error) {
	if v.Kind() == rpc.Null {
		return nil, nil
	}
	var e Engine
	var id *string
	if err := (params.Members{
		"name": func(rpc.Value) error { return nil }, "id": params.Into(&id, params.Optional(params.Text)),
		"version": params.Into(&e.Version, params.Optional(params.Text)), "turnMaintenanceMode": params.Into(&e.TurnMaintenance, params.Optional(params.Text)),
		"ownsCompaction":     func(v rpc.Value) error { e.OwnsCompaction, _ = v.Bool(); return nil },
		"citationsMode":      params.Into(&e.Citations, readCitations),
		"contextTokenBudget": params.Into(&e.TokenBudget, params.Optional(readCount)),
		"reserveTokens":      params.Into(&e.Compaction.ReserveTokens, params.Optional(readInteger)),
		"reserveTokensFloor": params.Into(&e.Compaction.ReserveTokensFloor, params.Optional(readInteger)),
		"projection":         params.Into(&e.Projection, readProjection),
	}).Read(v); err != nil {
		return nil, err
	}
	if id != nil {
		e.ID = *id
	}
	return &e, nil
}

func readCitations(v rpc.Value) (json.RawMessage, error) {
	if v.Kind() == rpc.Null {
		return nil, nil
	}
	return bytes.Clone(v.Raw()), nil
}

func readProjection(v rpc.Value) (*Projection, error) {
	if v.Kind() == rpc.Null {
		return nil, nil
	}
	epoch, _ := v.Get("epoch").Text()
	fingerprint, ok := v.Get("fingerprint").Text()
	mode := v.Get("mode")
	switch {
	case strings.TrimSpace(epoch) == "":
		return nil, errors.New("it needs an epoch that is not blank")
	case v.Get("fingerprint").Exists() && !ok:
		return nil, errors.New("its fingerprint must be a string")
	case mode.Exists() && !mode.Is(threadBootstrap):
		return nil, errors.New("its mode must be " + threadBootstrap)
	}
	return &Projection{Epoch: epoch, Fingerprint: fingerprint}, nil
}

// Active reports whether e is an engine other than the legacy one.
func (e *Engine) Active() bool {
	if e == nil {
		return false
	}
	id := strings.TrimSpace(e.ID)
	return id != "" && id != legacyEngine
}

// Binding returns the record of the engine for a thread's binding, or nil if it is not active.
func (e *Engine) Binding() (*ContextEngine, error) {
	if !e.Active() {
		return nil, nil
	}
	id := strings.TrimSpace(e.ID)
	policy, err := e.policy(id)
	if err != nil {
		return nil, fmt.Errorf("the context engine %q: %w", id, err)
	}
	return &ContextEngine{EngineID: id, Policy: policy, Projection: e.Projection}, nil
}

// MaxChars returns the largest number of history characters for a new thread.
func (e *Engine) MaxChars() int {
	if !e.Active() || e.TokenBudget == nil {
		return historyChars(0, nil)
	}
	return historyChars(*e.TokenBudget, e.Compaction.Reserve())
}

// policy returns the fingerprint of the properties that matter to a thread. It is a TextFingerprint,
// because nothing in it is secret and a person can compare two of them.
func (e *Engine) policy(id string) (string, error) {
	text, err := json.Marshal(struct {
		SchemaVersion      int             `json:"schemaVersion"`
		EngineID           string          `json:"engineId"`
		EngineVersion      *string         `json:"engineVersion,omitempty"`
		OwnsCompaction     bool            `json:"ownsCompaction"`
		TurnMaintenance    *string         `json:"turnMaintenanceMode,omitempty"`
		Citations          json.RawMessage `json:"citationsMode,omitempty"`
		ContextTokenBudget *int            `json:"contextTokenBudget,omitempty"`
		ProjectionMaxChars int             `json:"projectionMaxChars"`
	}{1, id, e.Version, e.OwnsCompaction, e.TurnMaintenance, e.Citations, e.TokenBudget, e.MaxChars()})
	if err != nil {
		return "", err
	}
	return TextFingerprint(text)
}

// EngineMaxChars returns the MaxChars of the engine of a thread's binding. b may be nil.
func EngineMaxChars(b *ContextEngine) int {
	var policy struct{ ProjectionMaxChars int }
	if b != nil {
		// A record of another program has no version before the object. An invalid text leaves
		// the default.
		if i := strings.IndexByte(b.Policy, '{'); i >= 0 {
			_ = json.Unmarshal([]byte(b.Policy[i:]), &policy)
		}
	}
	if n := policy.ProjectionMaxChars; n > 0 {
		return n
	}
	return historyChars(0, nil)
}

// SameEngine reports whether a thread that was started with engine a may be resumed with b.
func SameEngine(a, b *ContextEngine) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.EngineID != b.EngineID || !SameFingerprint(a.Policy, b.Policy) {
		return false
	}
	p, q := a.Projection, b.Projection
	return p == q || p != nil && q != nil && *p == *q
}

// readCount reads an integer that is not negative.
func readCount(v rpc.Value) (int, error) {
	if n, err := readInteger(v); err == nil && n >= 0 {
		return n, nil
	}
	return 0, errors.New("it must be a whole number, zero or more")
}

func readInteger(v rpc.Value) (int, error) {
	const limit = 1 << 50
	if v.Kind() == rpc.Number {
		if f, err := strconv.ParseFloat(string(v.Raw()), 64); err == nil && f >= -limit && f <= limit && f == float64(int(f)) {
			return int(f), nil
		}
	}
	return 0, errors.New("it must be a whole number")
}
