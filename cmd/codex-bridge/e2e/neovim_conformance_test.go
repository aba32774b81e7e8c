//go:build linux

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"codex-bridge.example/rpc"
)

// The plugin meets each requirement for clients.
func TestNeovimConformance(t *testing.T) {
	t.Parallel()
	all := loadRequirements(t)
	defaults := map[string]*wireMessage{}
	for _, s := range all[0].steps {
		if s.Server != nil && s.Server.Response != "" {
			defaults[s.Server.Response] = s.Server
		}
	}
	for _, r := range all {
		if !isSampledName(3, r.name) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			p := w.play(r, defaults)
			v := w.neovim(fmt.Sprintf("{ framing = 'headers', cmd = { 'sh', '-c', 'cat %[1]s & exec cat >%[2]s' } }", p.toClient, p.fromClient))
			v.lua(showsText)
			p.run(v)
		})
	}
}

// showsText defines a function that reports whether the plugin shows a text, and counts the questions of
// vim.ui.select.
const showsText = `function _G.shows(text)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.fn.bufwinid(buffer) ~= -1 then
      local lines = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
      if lines:find(text, 1, true) then return true end
    end
  end
  return vim.api.nvim_exec2("messages", { output = true }).output:find(text, 1, true) ~= nil
end`

// clientPlay plays the server of a requirement to a client.
type clientPlay struct {
	*requirement
	t          *testing.T
	toClient   string // named pipes
	fromClient string
	defaults   map[string]*wireMessage // responses of the server, by method

	sink     rpc.Sink
	requests map[string]any // ids of the server's requests, by name
	mu       sync.Mutex     // guards the rest
	changed  chan struct{}  // closed and replaced with each message
	received []wireMessage  // from the client
	taken    []bool         // whether a step has the message
	expected map[string]int // number of messages that steps have, by method
}

// play starts to play a requirement.
func (w *world) play(r *requirement, defaults map[string]*wireMessage) *clientPlay {
	w.t.Helper()
	p := &clientPlay{
		requirement: r, t: w.t, defaults: defaults, toClient: filepath.Join(w.root, "to-client"), fromClient: filepath.Join(w.root, "from-client"),
		requests: map[string]any{}, changed: make(chan struct{}), expected: map[string]int{},
	}
	for _, s := range r.steps {
		if s.Client != nil && s.Client.Method != "" && !s.Optional {
			p.expected[s.Client.Method]++
		}
	}
	var pipes []*os.File
	for _, name := range []string{p.toClient, p.fromClient} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			w.t.Fatal(err)
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0) // O_RDWR does not wait for the other side
		if err != nil {
			w.t.Fatal(err)
		}
		pipes = append(pipes, f)
	}
	p.sink = rpc.NewHeaderSink(pipes[0])
	var reader sync.WaitGroup
	reader.Go(func() { p.read(pipes[1], pipes[0]) })
	w.t.Cleanup(func() {
		for _, f := range pipes {
			f.Close()
		}
		reader.Wait()
	})
	return p
}

// read keeps the client's messages, and answers requests that no step answers.
func (p *clientPlay) read(in, out *os.File) {
	source, _ := rpc.DetectFraming(in, out, 1<<20)
	for {
		text, err := source.Next()
		if err != nil {
			return
		}
		var m wireMessage
		if err := json.Unmarshal(text, &m); err != nil {
			p.t.Errorf("the client sent %s: %v", text, err)
			return
		}
		p.mu.Lock()
		p.received = append(p.received, m)
		isStep := m.Method == "" || p.expected[m.Method] > 0
		p.taken = append(p.taken, !isStep)
		switch {
		case isStep && m.Method != "":
			p.expected[m.Method]--
		case !isStep && m.ID != nil:
			p.answer(m, p.defaults[m.Method])
		}
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
	}
}

// answer sends the response to a request of the client.
func (p *clientPlay) answer(request wireMessage, response *wireMessage) {
	m := map[string]any{"jsonrpc": "2.0", "id": request.ID}
	switch {
	case response == nil:
		m["error"] = map[string]any{"code": rpc.CodeUnknownMethod, "message": request.Method + " is not part of this capture"}
	case response.Error != nil:
		m["error"] = response.Error
	default:
		m["result"] = response.Result
	}
	p.write(m)
}

func (p *clientPlay) write(v any) {
	text, err := json.Marshal(v)
	if err != nil {
		p.t.Error(err)
		return
	}
	p.sink.WriteMessage(text)
}

// take waits for a message of the client that no step has yet.
func (p *clientPlay) take(v *inNeovim, what string, fits func(wireMessage) bool) wireMessage {
	p.t.Helper()
	for {
		p.mu.Lock()
		for i, m := range p.received {
			if !p.taken[i] && fits(m) {
				p.taken[i] = true
				p.mu.Unlock()
				return m
			}
		}
		changed, received := p.changed, slices.Clone(p.received)
		p.mu.Unlock()
		select {
		case <-changed:
		case <-v.ctx.Done():
			p.t.Fatalf("the client did not send %s; it sent %s", what, marshal(p.t, received))
		}
	}
}

// sync waits until the client has handled all messages, and its messages have arrived.
func (p *clientPlay) sync(v *inNeovim) {
	p.t.Helper()
	v.lua(`_G.synced = nil; require("codex-bridge.session").request("conformance/sync", {}, function() _G.synced = true end)`)
	v.waitLua("synced")
}

// run does the steps with a Neovim.
func (p *clientPlay) run(v *inNeovim) {
	p.t.Helper()
	for i, s := range p.steps {
		switch {
		case s.Optional:
		case s.Client != nil && s.Client.Response != "":
			p.checkResponse(v, s.Client)
		case s.Client != nil:
			p.checkRequest(v, s, p.steps[min(i+1, len(p.steps)-1)].Server)
		case s.Server != nil && s.Server.Response == "":
			m := map[string]any{"jsonrpc": "2.0", "method": s.Server.Method, "params": s.Server.Params}
			if s.Server.ID != nil {
				m["id"] = s.Server.ID
				p.requests[s.As] = s.Server.ID
			}
			p.write(m)
		case s.User != "":
			p.user(v, s)
		case s.Shows != "" && i+1 < len(p.steps) && p.steps[i+1].User == "choose": // vim.ui.select lets no Lua run
			v.waitScreen(s.Shows)
		case s.Shows != "":
			v.waitLua("shows(" + marshal(p.t, s.Shows) + ")")
		case s.Lacks != "":
			p.sync(v)
			v.lua("vim.cmd.redraw()")
			if strings.Contains(v.Screen().Text(), s.Lacks) {
				p.t.Errorf("step %d: the screen has %q", i+1, s.Lacks)
			}
		case s.Never != "":
			p.checkNever(v, s.Never)
		}
	}
}

// user does a step of the user.
func (p *clientPlay) user(v *inNeovim, s conformanceStep) {
	p.t.Helper()
	switch s.User {
	case "send":
		v.startText(s.Text)
	case "accept", "decline":
		p.sync(v)
		v.lua(`require("codex-bridge").answer(...)`, s.User)
	case "accept unseen":
		p.sync(v)
		if v.lua("return shows(...)", s.Text) == "true" {
			return // the client shows the question although the chat is hidden
		}
		v.lua(`require("codex-bridge").answer("accept")`)
	case "stop":
		v.lua(`require("codex-bridge").stop()`)
	case "hide":
		v.lua(`require("codex-bridge").hide()`)
	case "show":
		v.lua(`require("codex-bridge").show()`)
	case "choose":
		v.waitScreen(": " + s.Text)
		before, _, _ := strings.Cut(v.Screen().Text(), ": "+s.Text)
		v.typeKeys(before[strings.LastIndexAny(before, " \n")+1:] + "<CR>")
	case "kill": // Codex has no part here
	default:
		p.t.Fatalf("unknown step %q", s.User)
	}
}

func (p *clientPlay) checkResponse(v *inNeovim, want *wireMessage) {
	p.t.Helper()
	id := fmt.Sprint(p.requests[want.Response])
	m := p.take(v, "a response to "+want.Response, func(m wireMessage) bool { return m.Method == "" && fmt.Sprint(m.ID) == id })
	if want.Error != nil {
		if m.Error == nil {
			p.t.Errorf("the response is %s, not an error", marshal(p.t, m.Result))
		}
	} else if !hasMembers(m.Result, want.Result) && !isRefusal(want.Result, m.Result) {
		p.t.Errorf("the response is %s, not %s", marshal(p.t, m.Result), marshal(p.t, want.Result))
	}
}

// isRefusal reports whether two results of a tool both say that it failed, with different texts.
func isRefusal(want, got any) bool {
	wanted, _ := want.(map[string]any)
	have, _ := got.(map[string]any)
	return wanted["success"] == false && have["success"] == false
}

func (p *clientPlay) checkRequest(v *inNeovim, s conformanceStep, response *wireMessage) {
	p.t.Helper()
	m := p.take(v, s.Client.Method, func(m wireMessage) bool { return m.Method == s.Client.Method })
	want, _ := s.Client.Params.(map[string]any)
	got, _ := m.Params.(map[string]any)
	for _, key := range s.Check {
		var wanted any
		if err := json.Unmarshal([]byte(p.resolve(marshal(p.t, want[key]))), &wanted); err != nil {
			p.t.Fatal(err)
		}
		if !hasMembers(got[key], wanted) {
			p.t.Errorf("%s has %s %s, not %s", m.Method, key, marshal(p.t, got[key]), marshal(p.t, wanted))
		}
	}
	if m.ID != nil {
		p.answer(m, response)
	}
}

// hasMembers reports whether a value has all that another one has. A client may send more members.
func hasMembers(value, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		have, ok := value.(map[string]any)
		for key, member := range wanted {
			ok = ok && hasMembers(have[key], member)
		}
		return ok
	case []any:
		have, ok := value.([]any)
		return ok && slices.EqualFunc(have, wanted, hasMembers)
	default:
		return value == wanted
	}
}

// resolve replaces the names of the thread and the turn by the ids of the capture.
func (p *clientPlay) resolve(text string) string {
	id := func(method, kind string) string {
		for _, s := range p.steps {
			if s.Server != nil && s.Server.Response == method {
				result, _ := s.Server.Result.(map[string]any)
				object, _ := result[kind].(map[string]any)
				return fmt.Sprint(object["id"])
			}
		}
		return ""
	}
	return strings.NewReplacer("$THREAD", id("thread/start", "thread"), "$TURN", id("turn/start", "turn")).Replace(text)
}

func (p *clientPlay) checkNever(v *inNeovim, what string) {
	p.t.Helper()
	p.sync(v)
	p.mu.Lock()
	defer p.mu.Unlock()
	name, isResponse := strings.CutPrefix(what, "response ")
	for _, m := range p.received {
		if isResponse && m.Method == "" && fmt.Sprint(m.ID) == fmt.Sprint(p.requests[name]) || !isResponse && m.Method == what {
			p.t.Errorf("the client sent %s", marshal(p.t, m))
		}
	}
}
