//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/json"
	goflag "flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/editor"
)

var updateConformance = goflag.Bool("update-conformance", false, "record the messages of the server in testdata/conformance again")

// conformanceFolder has the captures of docs/guides/clients.md. One file is one requirement for clients.
// Its first line has the requirement, and each other line a step. TestConformanceCaptures plays the
// client's steps to the bridge and checks the server's. The tests of both clients play the server's steps,
// do the user's, and check what the client shows and sends.
const conformanceFolder = "../../../testdata/conformance"

// requirement is a capture.
type requirement struct {
	Number int    `json:"number"`
	Text   string `json:"text"` // what a client must do
	// Written: no release of Codex sends this, or not to order. The server's steps are not recorded.
	Written     bool   `json:"written,omitempty"`
	Config      string `json:"config,omitempty"`      // of codex-bridge
	CodexConfig string `json:"codexConfig,omitempty"` // of Codex

	name  string
	steps []conformanceStep
}

// conformanceStep is one line of a capture. One of Client, Server, User, Shows, Lacks and Never is set.
type conformanceStep struct {
	Client *wireMessage `json:"client,omitempty"`
	// Optional: a client need not send it. Its response is also that of the other captures.
	Optional bool `json:"optional,omitempty"`
	// Check has the members of the params that the clients in the tests must send like this, too.
	Check  []string     `json:"check,omitempty"`
	Server *wireMessage `json:"server,omitempty"`
	As     string       `json:"as,omitempty"`   // the name of a request of the server, for its response
	Wait   bool         `json:"wait,omitempty"` // the recording goes on until this message
	User   string       `json:"user,omitempty"` // send, accept, accept unseen, decline, stop, hide, show, choose, kill
	Text   string       `json:"text,omitempty"` // of send and choose; of the question that accept unseen must not accept unless it is shown
	Shows  string       `json:"shows,omitempty"`
	Lacks  string       `json:"lacks,omitempty"`
	Never  string       `json:"never,omitempty"` // "response NAME" or a method that the client must not have sent
}

// wireMessage is a message. A response has the method of the client's request, or the name of the server's
// request, in place of the id.
type wireMessage struct {
	ID       any    `json:"id,omitempty"`
	Method   string `json:"method,omitempty"`
	Response string `json:"response,omitempty"`
	Params   any    `json:"params,omitempty"`
	Result   any    `json:"result,omitempty"`
	Error    any    `json:"error,omitempty"`
}

func loadRequirements(t *testing.T) []*requirement {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(conformanceFolder, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := make([]*requirement, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := &requirement{name: strings.TrimSuffix(filepath.Base(file), ".jsonl")}
		for n, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			var to any = r
			if n > 0 {
				r.steps = append(r.steps, conformanceStep{})
				to = &r.steps[n-1]
			}
			decoder := json.NewDecoder(strings.NewReader(line))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(to); err != nil {
				t.Fatalf("%s:%d: %v", file, n+1, err)
			}
		}
		all[i] = r
	}
	slices.SortFunc(all, func(a, b *requirement) int { return a.Number - b.Number })
	return all
}

func (r *requirement) save(t *testing.T) {
	t.Helper()
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	lines := []any{r}
	for _, s := range r.steps {
		lines = append(lines, s)
	}
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(conformanceFolder, r.name+".jsonl"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The captures are conversations with the real Codex through the bridge.
func TestConformanceCaptures(t *testing.T) {
	t.Parallel()
	for _, r := range loadRequirements(t) {
		if r.Written {
			continue
		}
		if !isSampledName(3, r.name) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: r.Config, codexConfig: r.CodexConfig, codex: codexPath, mute: "the captures have no other messages"})
			c := &capture{
				requirement: r, conversation: w.open(proxyPath, "app-server"), names: newNames(w),
				ids: map[string]string{}, requests: map[string]editor.Message{}, used: map[int]bool{},
			}
			c.play()
			if *updateConformance && !t.Failed() {
				r.save(t)
			}
		})
	}
}

// capture is a play of a requirement with the real server.
type capture struct {
	*requirement
	*conversation
	names    *names
	ids      map[string]string // names of ids in the capture, with those of this play
	thread   string            // ids that the steps of the client name
	turn     string
	requests map[string]editor.Message // of the server, by name
	used     map[int]bool              // indexes of messages that a step has
}

func (c *capture) play() {
	c.t.Helper()
	var recorded []conformanceStep
	for i, s := range c.steps {
		switch {
		case s.Client != nil:
			recorded = append(recorded, s)
			response := c.send(s.Client)
			if response == nil {
				break
			}
			if *updateConformance {
				recorded = append(recorded, conformanceStep{Server: response})
			} else if next := c.steps[min(i+1, len(c.steps)-1)].Server; next == nil || next.Response == "" {
				c.t.Errorf("step %d: a response has to follow", i+1)
			} else if !c.matches(c.plain(next), c.plain(response)) {
				c.t.Errorf("step %d: got %s, the capture has %s", i+2, marshal(c.t, response), marshal(c.t, next))
			}
		case s.Server != nil && s.Server.Response != "": // checked with its request
		case s.Server != nil && *updateConformance:
			if s.Wait {
				recorded = append(recorded, c.record(s)...)
			}
		case s.Server != nil:
			c.expect(i, s)
		case s.User == "kill":
			c.kill()
			recorded = append(recorded, s)
		default:
			recorded = append(recorded, s)
		}
	}
	c.steps = recorded
}

// send sends a message of the client, and returns the response to a request.
func (c *capture) send(m *wireMessage) *wireMessage {
	c.t.Helper()
	var sent wireMessage
	c.decode(c.real(marshal(c.t, m)), &sent)
	if m.Response != "" {
		request, ok := c.requests[m.Response]
		if !ok {
			c.t.Fatalf("no request of the server has the name %q", m.Response)
		}
		if err := c.Reply(request, sent.Result); err != nil {
			c.t.Fatal(err)
		}
		return nil
	}
	if m.Method == "initialized" {
		if err := c.Notify(m.Method, nil); err != nil {
			c.t.Fatal(err)
		}
		return nil
	}
	result, err := c.Call(c.ctx, m.Method, sent.Params)
	response := &wireMessage{Response: m.Method}
	switch {
	case err == nil:
		c.decode(string(result), &response.Result)
		switch m.Method {
		case "thread/start", "thread/resume":
			c.thread = editor.Member(result, "thread", "id")
		case "turn/start":
			c.turn = editor.Member(result, "turn", "id")
		}
	case err.Code == 0:
		c.t.Fatal(err)
	default:
		c.decode(marshal(c.t, err), &response.Error)
	}
	return c.named(response)
}

func (c *capture) kill() {
	c.t.Helper()
	p, err := os.FindProcess(c.codexPID())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// unneeded has the methods that a capture does not need: they depend on time.
var unneeded = append(slices.Clone(unstable), "remoteControl/status/changed", "skills/changed", "hook/started", "hook/completed", "mcpServer/startupStatus/updated", "bridge/hooks/state")

// find waits for a message with the method of a step that no step has yet.
func (c *capture) find(s conformanceStep, fits func(editor.Message) bool) editor.Message {
	c.t.Helper()
	m := c.waitFor(0, s.Server.Method, func(m editor.Message) bool { return !c.used[m.Index] && fits(m) })
	c.used[m.Index] = true
	if s.As != "" {
		c.requests[s.As] = m
	}
	return m
}

// record returns the messages up to that of a step that no step has yet.
func (c *capture) record(s conformanceStep) (steps []conformanceStep) {
	c.t.Helper()
	last := c.find(s, func(editor.Message) bool { return true })
	for _, m := range c.Messages() {
		if m.Index > last.Index || m.Sent || m.Method == "" || slices.Contains(unneeded, m.Method) {
			continue
		}
		step := conformanceStep{Server: c.named(c.wire(m))}
		if m.Index == last.Index {
			step.As, step.Wait = s.As, true
		} else if c.used[m.Index] {
			continue
		}
		c.used[m.Index] = true
		steps = append(steps, step)
	}
	return steps
}

// expect waits for the message of a step.
func (c *capture) expect(i int, s conformanceStep) {
	c.t.Helper()
	wanted := c.plain(s.Server)
	var other []string
	defer func() {
		if c.t.Failed() {
			c.t.Logf("step %d: %s\nreceived:\n%s", i+1, marshal(c.t, s.Server), strings.Join(other, "\n"))
		}
	}()
	c.find(s, func(m editor.Message) bool {
		got := c.plain(c.named(c.wire(m)))
		if c.matches(wanted, got) {
			return true
		}
		other = append(other, marshal(c.t, got))
		return false
	})
}

func (c *capture) wire(m editor.Message) *wireMessage {
	var got wireMessage
	c.decode(string(m.Raw), &got)
	return &got
}

func (c *capture) decode(text string, to any) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(text), to); err != nil {
		c.t.Fatalf("%v in %s", err, text)
	}
}

// plain returns a message as encoding/json decodes it.
func (c *capture) plain(m *wireMessage) (v any) {
	c.t.Helper()
	c.decode(marshal(c.t, m), &v)
	return v
}

// nameOfID is the name of an id. The bridge numbers its requests in an order that depends on time.
var nameOfID = regexp.MustCompile(`\$ID\d+|codex-bridge-A-\d+`)

// matches reports whether a message is that of the capture. Names of ids that are new stand for the ids
// that the message has there.
func (c *capture) matches(want, got any) bool {
	bound := map[string]string{}
	if !sameShape(want, got, bound) {
		return false
	}
	for wanted, id := range bound {
		if known, ok := c.ids[wanted]; ok && known != id {
			return false
		}
	}
	for wanted, id := range bound {
		c.ids[wanted] = id
	}
	return true
}

// sameShape compares two values, and binds names of ids.
func sameShape(want, got any, bound map[string]string) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := got.(map[string]any)
		if !ok || len(have) != len(want) {
			return false
		}
		for k, v := range want {
			if !sameShape(v, have[k], bound) {
				return false
			}
		}
		return true
	case []any:
		have, ok := got.([]any)
		return ok && slices.EqualFunc(want, have, func(a, b any) bool { return sameShape(a, b, bound) })
	case string:
		have, ok := got.(string)
		if !ok {
			return false
		}
		places := nameOfID.FindAllString(want, -1)
		ids := nameOfID.FindAllString(have, -1)
		if len(ids) != len(places) || nameOfID.ReplaceAllString(want, "") != nameOfID.ReplaceAllString(have, "") {
			return false
		}
		for i, place := range places {
			if id, ok := bound[place]; ok && id != ids[i] {
				return false
			}
			bound[place] = ids[i]
		}
		return true
	default:
		return reflect.DeepEqual(want, got)
	}
}

// fixedNumbers are the numbers that differ with each run, with those of the captures.
var fixedNumbers = map[string]float64{"pid": 1, "uptimeMs": 1, "expiresInMs": 120_000, "durationMs": 1}

func init() {
	for key := range clock {
		if _, ok := fixedNumbers[key]; !ok {
			fixedNumbers[key] = 1_764_000_000
		}
	}
}

// fix replaces what differs with each run or machine, except for ids.
func (c *capture) fix(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, member := range v {
			if strings.HasPrefix(c.root, strings.TrimSuffix(key, "/")+"/") { // a project above the world
				delete(v, key)
				continue
			}
			if _, ok := member.(float64); ok {
				if fixed, ok := fixedNumbers[key]; ok {
					v[key] = fixed
				}
			}
			if key == "userAgent" {
				v[key] = "codex"
			}
			if member == methods.Measured {
				v[key] = "$VERSION"
			}
			c.fix(member)
		}
	case []any:
		for _, member := range v {
			c.fix(member)
		}
	}
}

// ownIDs are the random beginnings of the ids of internal requests.
var ownIDs = regexp.MustCompile(`codex-bridge-[A-Z2-7]{26}-`)

// named returns a message without random parts.
func (c *capture) named(m *wireMessage) *wireMessage {
	c.t.Helper()
	v := c.plain(m)
	c.fix(v)
	var named wireMessage
	c.decode(ownIDs.ReplaceAllString(marshal(c.t, c.names.value("", v)), "codex-bridge-A-"), &named)
	return &named
}

// real returns the text of a client's message with the folders, the thread and the turn of this world.
func (c *capture) real(text string) string {
	return strings.NewReplacer("$ROOT", c.root, "$THREAD", c.thread, "$TURN", c.turn).Replace(text)
}

// The list of requirements in the docs is that of the captures. -update-conformance writes it.
func TestConformanceList(t *testing.T) {
	const file, begin, end = "../../../docs/guides/clients.md", "<!-- requirements -->\n", "<!-- end -->"
	var list strings.Builder
	list.WriteString("requirement | capture\n---|---\n")
	for _, r := range loadRequirements(t) {
		written := ""
		if r.Written {
			written = " (written)"
		}
		fmt.Fprintf(&list, "%s | `%s`%s\n", r.Text, r.name, written)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	old, after, closed := strings.Cut(rest, end)
	switch {
	case !found || !closed:
		t.Fatalf("%s has no place for the list", file)
	case *updateConformance:
		if err := os.WriteFile(file, []byte(before+begin+list.String()+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	case old != list.String():
		t.Errorf("%s is not current; run go test ./cmd/codex-bridge/e2e -run TestConformance -update-conformance", file)
	}
}
