package bridge

import (
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"codex-bridge/rpc"
)

// Unheard are the notifications that the client has opted out of and that a feature needs:
// Codex says them for the bridge, and the client does not get them. It is safe for
// concurrent use; the zero value is empty.
type Unheard struct {
	mu      sync.Mutex // of who adds
	methods atomic.Pointer[[]string]
}

// Add puts a method to the others.
func (u *Unheard) Add(method string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []string
	if were := u.methods.Load(); were != nil {
		all = slices.Clone(*were)
	}
	all = append(all, method)
	u.methods.Store(&all)
}

// Has tells whether a method is one of them. It is asked on the hot path, and mostly there
// are none.
func (u *Unheard) Has(method string) bool {
	all := u.methods.Load()
	return all != nil && slices.Contains(*all, method)
}

// Withhold keeps from the client what it does not want to hear.
func (u *Unheard) Withhold(said *Said) {
	if u.Has(said.Method) {
		said.Line = nil
	}
}

// TakeOff takes what is needed off the list of an initialize, and adds it. It returns the
// message without it, and nil when there was none of it.
func (u *Unheard) TakeOff(m *rpc.Message, needed func(method string) bool) (*rpc.Message, *rpc.Error) {
	const key = "optOutNotificationMethods"
	capabilities := m.Params.Get("capabilities")
	list := capabilities.Get(key)
	kept := []json.RawMessage{}
	for method := range list.Elements() {
		if text, ok := method.Text(); ok && needed(text) {
			u.Add(text)
			continue
		}
		kept = append(kept, method.Raw())
	}
	if list.Kind() != rpc.Array || len(kept) == list.Len() {
		return nil, nil
	}
	raw, err := json.Marshal(kept)
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInternal, "initialize with other notifications: %v", err)
	}
	patch := rpc.NewPatch(m)
	patch.Set(capabilities, key, raw)
	less, failed := rpc.ParseMessage(patch.Bytes())
	if failed != nil {
		return nil, rpc.Errorf(rpc.CodeInternal, "initialize with other notifications: %v", failed)
	}
	return less, nil
}
