package rollout

import (
	"encoding/json"
	"errors"

	"codex-bridge/rpc"
)

var errNoMeta = errors.New("its first line tells nothing of the thread")

// Tools are the dynamic tools that a thread was started with, as Codex keeps them: the
// list of thread/start, empty where there are none. Measured: a fork has those of the
// thread it comes from, and neither thread/resume nor thread/fork can give it others.
func DynamicTools(codexHome, path string) (json.RawMessage, error) {
	line, err := readFirstLine(codexHome, path)
	if err != nil {
		return nil, err
	}
	doc, err := rpc.ParseValue(line)
	if err != nil {
		return nil, err
	}
	meta := doc.Root().Get("payload")
	if !doc.Root().Get("type").Is("session_meta") || meta.Kind() != rpc.Object {
		return nil, errNoMeta
	}
	list := meta.Get("dynamic_tools")
	switch list.Kind() {
	case rpc.Absent, rpc.Null:
		return json.RawMessage("[]"), nil
	case rpc.Array:
		return list.Raw(), nil
	}
	return nil, errNoMeta
}
