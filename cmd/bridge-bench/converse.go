//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"codex-bridge.example/rpc"
)

// converse responds as Codex does in a thread, so that a bridge with a policy verifies the thread
// and trusts its hooks.
func (s *standIn) converse(line []byte) error {
	m, err := rpc.ParseMessage(line)
	if err != nil || m.Kind != rpc.Request {
		return err
	}
	var result any = map[string]any{}
	switch m.Method {
	case "initialize":
		return writeAll(1, answer(m.ID.Raw()))
	case "configRequirements/read":
		result = map[string]any{"requirements": nil}
	case "config/read":
		result = map[string]any{"config": map[string]any{}, "origins": map[string]any{}}
	case "hooks/list":
		result = map[string]any{"data": []any{map[string]any{"cwd": workspace, "hooks": s.hooks}}}
	case "thread/start":
		if result, err = s.startThread(m.Params.Raw()); err != nil {
			return err
		}
	case "turn/start":
		result = map[string]any{"turn": map[string]any{"id": "1", "items": []any{}, "status": "inProgress"}}
	case listMethod:
		if s.name == deafClient || s.name == deafCodex {
			return s.beHeldUp()
		}
		if s.name == pacedLoad {
			return s.writePaced()
		}
		if err := s.load.writeTo(1); err != nil {
			return err
		}
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return writeAll(1, append(rpc.EncodeResult(m.ID, raw), '\n'))
}

// startThread echoes the settings of a new thread and stores its hooks.
func (s *standIn) startThread(params []byte) (any, error) {
	var p struct {
		Cwd, ApprovalPolicy, Sandbox, Permissions string

		Config map[string]json.RawMessage
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	var profile any
	switch {
	case p.Permissions != "": // of the bridge
		profile = map[string]any{"id": p.Permissions, "extends": ":workspace"}
	case p.Sandbox != "workspace-write":
		return nil, fmt.Errorf("the thread's sandbox is %q, which the stand-in does not echo", p.Sandbox)
	}
	var states map[string]struct {
		Hash string `json:"trusted_hash"`
	}
	if raw := p.Config["hooks.state"]; raw != nil {
		if err := json.Unmarshal(raw, &states); err != nil {
			return nil, err
		}
	}
	hooks := []any{}
	for key, state := range states {
		if strings.HasPrefix(key, "/") { // the form in which Codex 0.169.0 lists them
			hooks = append(hooks, map[string]any{"key": key, "enabled": true, "trustStatus": "trusted", "currentHash": state.Hash})
		}
	}
	list, err := json.Marshal(hooks)
	s.hooks = list
	return map[string]any{
		"thread": map[string]any{"id": thread, "cwd": p.Cwd, "ephemeral": false, "turns": []any{}},
		"model":  "gpt-5.5", "modelProvider": "stand-in", "cwd": p.Cwd, "approvalPolicy": p.ApprovalPolicy, "approvalsReviewer": "user",
		"sandbox": map[string]any{
			"type": "workspaceWrite", "writableRoots": []any{}, "networkAccess": false, "excludeTmpdirEnvVar": false, "excludeSlashTmp": false,
		},
		"activePermissionProfile": profile,
	}, err
}
