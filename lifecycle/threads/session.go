package threads

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/rpc"
)

// sessionRequest is the member bridge of the parameters of thread/start. Its values alias the
// message.
type sessionRequest struct {
	Key     string
	Engine  *binding.Engine // nil: none
	Servers json.RawMessage // the part of the thread's configuration that starts the user's servers; nil: none
	Plugins binding.PluginSettings
}

// readSession reads {sessionKey, contextEngine, mcpServers, plugins} in the member bridge of the
// parameters of thread/start. It returns nil if the member is absent or null: the request is
// then for Codex alone.
func readSession(start rpc.Value) (*sessionRequest, error) {
	v := start.Get("bridge")
	switch v.Kind() {
	case rpc.Absent, rpc.Null:
		return nil, nil
	case rpc.Object:
	default:
		return nil, fmt.Errorf("bridge: it is %s, not an object", v.Kind())
	}
	var a sessionRequest
	if err := (params.Members{
		"sessionKey": params.Into(&a.Key, readKey), "contextEngine": params.Into(&a.Engine, binding.ReadEngine),
		"mcpServers": params.Into(&a.Servers, params.MCPServersConfig), "plugins": params.Into(&a.Plugins, binding.ReadPluginSettings),
	}).Read(v); err != nil {
		return nil, fmt.Errorf("bridge.%w", err)
	}
	if a.Key == "" {
		return nil, errors.New("bridge: it has no sessionKey")
	}
	if ephemeral, _ := start.Get("ephemeral").Bool(); ephemeral {
		return nil, errors.New("bridge.sessionKey: an ephemeral thread belongs to no session; leave one of the two out")
	}
	return &a, nil
}

func readKey(v rpc.Value) (string, error) {
	text, err := params.Text(v)
	if err == nil {
		err = CheckSessionKey(text)
	}
	return text, err
}

// maxKeyLen is the maximum length of a session's key, in characters.
const maxKeyLen = 512

// CheckSessionKey returns an error if a text can't be the key of a session.
func CheckSessionKey(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("it is blank")
	case utf8.RuneCountInString(text) > maxKeyLen:
		return fmt.Errorf("it is longer than %d characters", maxKeyLen)
	case strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("it has control characters")
	}
	return nil
}

// readTrigger reads {trigger} in the member bridge of the parameters of turn/start. ok is
// false without that member.
func readTrigger(start rpc.Value) (t params.Trigger, ok bool, err error) {
	v := start.Get("bridge")
	switch v.Kind() {
	case rpc.Absent, rpc.Null:
		return "", false, nil
	case rpc.Object:
	default:
		return "", false, fmt.Errorf("bridge: it is %s, not an object", v.Kind())
	}
	t = params.TriggerUser
	if err := (params.Members{"trigger": params.Into(&t, params.ReadTrigger)}).Read(v); err != nil {
		return "", false, fmt.Errorf("bridge.%w", err)
	}
	return t, true, nil
}
