package host

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"codex-bridge/bridge"
	"codex-bridge/rpc"
)

// What codex says only where the client has asked for what is experimental, which tools
// need. Measured with 0.169.0, one conversation with and one without; the request and the
// field are by codex's schemas, of which those without `--experimental` lack them.
var (
	unseen       = []string{"thread/readState/changed"} // codex is asked not to send these
	unasked      = []string{"currentTime/read"}
	unseenFields = map[string][]string{"item/commandExecution/requestApproval": {"additionalPermissions"}}
)

// experiment is whether codex was asked, for the client or in its name, for what is
// experimental.
type experiment struct {
	on      atomic.Bool // codex takes tools
	ours    atomic.Bool // the client has not asked for it
	unheard atomic.Bool // the client does not want to hear warnings of the configuration
	deaf    atomic.Bool // nor those of threads
}

// warning is the notification by which Codex itself says that something of the
// configuration has no effect.
const warning = "configWarning"

// initialize has codex take tools.
func (f *Feature) initialize(_ context.Context, call *bridge.Call) *rpc.Error {
	m, err := rpc.ParseMessage(call.Line) // as the features before have left it
	if err != nil {
		return rpc.Errorf(rpc.CodeInternal, "initialize as it was rewritten can't be read: %v", err)
	}
	capabilities := m.Params.Get("capabilities")
	deaf := capabilities.Get("optOutNotificationMethods")
	for method := range call.Params.Get("capabilities").Get("optOutNotificationMethods").Elements() {
		switch {
		case method.Is(warning):
			f.experiment.unheard.Store(true)
		case method.Is(caution):
			f.experiment.deaf.Store(true)
		}
	}
	on, said := capabilities.Get("experimentalApi").Bool()
	if on {
		f.experiment.on.Store(true)
		return nil
	}
	if !f.configured || m.Params.Kind() != rpc.Object {
		return nil
	}
	if value := capabilities.Get("experimentalApi"); value.Exists() && !said && value.Kind() != rpc.Null {
		return nil // codex will say what is wrong with it
	}
	list := unseen
	for method := range deaf.Elements() {
		if text, ok := method.Text(); ok {
			list = append([]string{text}, list...)
		}
	}
	silent, err := json.Marshal(list)
	if err != nil {
		return rpc.Errorf(rpc.CodeInternal, "initialize: %v", err)
	}
	patch := rpc.NewPatch(m)
	switch capabilities.Kind() {
	case rpc.Object:
		patch.Set(capabilities, "experimentalApi", []byte("true"))
		patch.Set(capabilities, "optOutNotificationMethods", silent)
	case rpc.Null, rpc.Absent:
		patch.Set(m.Params, "capabilities", append(append([]byte(`{"experimentalApi":true,"optOutNotificationMethods":`), silent...), '}'))
	default:
		return nil
	}
	call.Line = patch.Bytes()
	f.experiment.on.Store(true)
	f.experiment.ours.Store(true)
	return nil
}

// hide takes out of a question what the client would not have seen.
func (f *Feature) hide(_ context.Context, said *bridge.Said) {
	if !f.experiment.ours.Load() || said.Line == nil {
		return
	}
	e, err := rpc.Open(said.Line) // as the features before have left it
	if err != nil {
		return
	}
	patch := rpc.NewEnvelopePatch(e)
	for _, field := range unseenFields[said.Method] {
		patch.Delete(e.Root().Get("params"), field)
	}
	if patch.Changed() {
		said.Line = patch.Bytes()
	}
}

// refuse answers what the client would not have been asked.
func (f *Feature) refuse(_ context.Context, said *bridge.Said) {
	if f.experiment.ours.Load() && said.ID.IsValid() && said.Line != nil {
		said.Refuse(rpc.Errorf(rpc.CodeInvalidRequest, "the client has not asked for what is experimental, as %s is", said.Method))
	}
}
