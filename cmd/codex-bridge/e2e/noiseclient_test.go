//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"codex-bridge.example/cmd/internal/noise"
)

// noiseClient adds noise to the messages of an editor, and checks the responses to it. Set source,
// mute, params and fail before the first use. It is safe for concurrent use.
type noiseClient struct {
	source *noise.Source
	mute   bool         // sends no noise
	params bool         // adds members to params, not only to the message
	fail   func(string) // reports a wrong response

	mu          sync.Mutex
	initialized bool
	pending     map[string]bool // requests without a response, by id
	sent        int             // requests
}

// Outgoing returns the lines that the editor writes instead of line: noise, then line with further
// members. Before the notification initialized it returns line alone.
func (c *noiseClient) Outgoing(method string, line []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.initialized {
		c.initialized = method == "initialized" && !c.mute
		return line
	}
	var out []byte
	if n := c.source.Notification(); n != nil {
		out = append(append(out, n...), '\n')
	}
	if id, r := c.source.Request(); r != nil {
		if c.pending == nil {
			c.pending = make(map[string]bool)
		}
		c.pending[id] = true
		c.sent++
		out = append(append(out, r...), '\n')
	}
	// The methods of the bridge refuse unknown params.
	top := !c.params || strings.HasPrefix(method, "bridge/")
	return append(out, c.source.Members(line, top)...)
}

// unanswered returns the ids of the requests without a response, and how many were sent.
func (c *noiseClient) unanswered() (ids []string, sent int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.pending)), c.sent
}

// Incoming takes a line of the server. It returns the line without noise, or drop if all of it is
// noise; reply is the response to a request that is noise.
func (c *noiseClient) Incoming(line []byte) (rest, reply []byte, drop bool) {
	if !bytes.Contains(line, []byte(noise.Prefix)) {
		return line, nil, false
	}
	var m struct {
		ID     any
		Method string
		Params struct{ Method string }
		Error  *struct{ Code int }
	}
	if json.Unmarshal(line, &m) != nil {
		return withoutNoise(line), nil, false
	}
	id, _ := m.ID.(string)
	switch {
	case noise.Is(m.Method) && m.ID != nil:
		return nil, fmt.Appendf(nil, `{"id":%q,"error":{"code":-32601,"message":"no such method"}}`, id), true
	case noise.Is(m.Method), m.Method == "bridge/policy/applied" && noise.Is(m.Params.Method):
		return nil, nil, true
	case m.Method == "" && noise.Is(id):
		c.checkResponse(id, m.Error != nil, line)
		return nil, nil, true
	}
	return withoutNoise(line), nil, false
}

// checkResponse fails unless the response is the first one to a pending request, and an error.
func (c *noiseClient) checkResponse(id string, isError bool, line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.pending[id] || !isError {
		c.fail(fmt.Sprintf("noise: a response that is an error was expected: %t; received %s", c.pending[id], line))
	}
	delete(c.pending, id)
}

// noiseMember matches a member that noise has added, with the comma beside it.
var noiseMember = func() *regexp.Regexp {
	all := slices.Clone(noise.Values)
	for i, v := range all {
		all[i] = regexp.QuoteMeta(v)
	}
	member := `"` + noise.Prefix + `[a-z0-9]+":(?:` + strings.Join(all, "|") + `)`
	return regexp.MustCompile(member + `,|,` + member + `|` + member)
}()

// withoutNoise returns a line without the members that a noise.Source has added.
func withoutNoise(line []byte) []byte {
	if !bytes.Contains(line, []byte(`"`+noise.Prefix)) {
		return line
	}
	return noiseMember.ReplaceAll(line, nil)
}
