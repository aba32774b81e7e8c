//go:build linux

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/cmd/internal/editor"
)

// transcript returns the server's messages in the conversations of one world, without random parts,
// in a reproducible order: the responses in the order of their requests, then the requests and
// notifications, ordered within each thread and turn.
//
// Measured with Codex 0.169.0, often two runs under load: the order within a turn, and of messages
// about the thread, is fixed. Not fixed are
//   - the order between these: thread/status/changed and serverRequest/resolved change places with
//
// a nearby item/completed;
//   - the order of responses: they arrive when Codex's handlers end;
//   - whether the messages in unstable arrive.
//
// TestTransparentBytes compares all bytes.
func transcript(conversations []*conversation) string {
	var b strings.Builder
	n := newNames(conversations[0].world)
	for i, c := range conversations {
		fmt.Fprintf(&b, "===== process %d\n", i+1)
		messages := c.Messages()
		for _, m := range c.answers() {
			n.write(&b, m)
		}
		for _, g := range groups(messages) {
			fmt.Fprintf(&b, "===== %s\n", n.text(g.key))
			for _, m := range g.messages {
				n.write(&b, m)
			}
		}
	}
	return b.String()
}

func compare(t *testing.T, direct, proxied string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(direct, "\n"), strings.Split(proxied, "\n")); diff != "" {
		t.Errorf("(-codex +codex-bridge)\n%s", diff)
	}
}

// answers returns the responses in the order of the requests. It omits malformed requests and their
// responses.
func (c *conversation) answers() []editor.Message {
	var found []editor.Message
	messages := c.Messages()
	for _, request := range messages {
		if !request.Sent || !request.IsRequest() || slices.Contains(c.malformed, request.Index) {
			continue
		}
		for _, m := range messages[request.Index+1:] {
			if !m.Sent && m.IsAnswer() && bytes.Equal(m.ID, request.ID) {
				found = append(found, m)
			}
		}
	}
	return found
}

// unstable are notifications that not every run of Codex sends: output of a command, which
// item/completed repeats, depends on the time of the command's end. Messages of an interrupted turn
// arrive before or after turn/completed, or not at all.
// before its turn/completed, or after it, or not.
var unstable = []string{
	"item/commandExecution/outputDelta",
	"thread/tokenUsage/updated",
	"account/rateLimits/updated",
}

// group has the server's requests and notifications about one thread or turn, or with one method
// that has neither.
type group struct {
	key      string
	messages []editor.Message
}

// groups returns the server's requests and notifications by thread and turn, and lines that are not
// messages, which must not exist.
func groups(messages []editor.Message) []group {
	var gs []group
	for _, m := range messages {
		if m.Sent || m.IsAnswer() || slices.Contains(unstable, m.Method) {
			continue
		}
		thread, turn := m.Param("threadId"), m.Param("turnId")
		if thread == "" {
			thread = m.Param("thread", "id")
		}
		if turn == "" {
			turn = m.Param("turn", "id")
		}
		key := strings.TrimSpace(thread + " " + turn)
		if key == "" {
			key = m.Method
		}
		i := slices.IndexFunc(gs, func(g group) bool { return g.key == key })
		if i < 0 {
			i = len(gs)
			gs = append(gs, group{key: key})
		}
		gs[i].messages = append(gs[i].messages, m)
	}
	// Ids of threads and turns are UUIDs of version 7: they sort by their creation.
	slices.SortStableFunc(gs, func(a, b group) int { return strings.Compare(a.key, b.key) })
	return gs
}

// clock has the members with times.
var clock = map[string]bool{
	"emittedAtMs": true, "startedAtMs": true, "completedAtMs": true, "durationMs": true,
	"createdAt": true, "updatedAt": true, "startedAt": true, "completedAt": true, "recencyAt": true,
}

var (
	uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	// The version of a configuration file, which contains the model's port.
	version = regexp.MustCompile(`sha256:[0-9a-f]{64}`)
	stamp   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`)
	rollout = regexp.MustCompile(`sessions/\d{4}/\d\d/\d\d/rollout-[0-9T-]{19}-`)
)

// names replaces random values by names in the order of their first appearance.
type names struct {
	fixed *strings.Replacer
	ids   map[string]string
}

func newNames(w *world) *names {
	return &names{
		fixed: strings.NewReplacer(w.root, "$ROOT", w.model.URL(), "$MODEL"),
		ids:   map[string]string{},
	}
}

func (n *names) name(id string) string {
	name, ok := n.ids[id]
	if !ok {
		name = fmt.Sprintf("$ID%d", len(n.ids)+1)
		n.ids[id] = name
	}
	return name
}

func (n *names) text(s string) string {
	s = n.fixed.Replace(s)
	s = rollout.ReplaceAllString(s, "sessions/$$DATE/rollout-$$TIME-")
	s = version.ReplaceAllStringFunc(s, n.name)
	return uuid.ReplaceAllStringFunc(s, n.name)
}

// log returns text with lines of a log, without times.
func (n *names) log(s string) string { return stamp.ReplaceAllString(n.text(s), "$$TIME") }

// value returns v with names; key is its member.
func (n *names) value(key string, v any) any {
	switch v := v.(type) {
	case string:
		if key == "processId" {
			return "$PROCESS"
		}
		return n.text(v)
	case json.Number:
		if clock[key] {
			return "$TIME"
		}
	case []any:
		for i := range v {
			v[i] = n.value(key, v[i])
		}
	case map[string]any:
		named := map[string]any{}
		for _, k := range sortedKeys(v) { // the order in which names are assigned
			named[n.text(k)] = n.value(k, v[k])
		}
		return named
	}
	return v
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// write writes a message: a headline, and its JSON with one member per line.
func (n *names) write(b *strings.Builder, m editor.Message) {
	decoder := json.NewDecoder(bytes.NewReader(m.Raw))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		fmt.Fprintf(b, "no JSON: %s\n", m.Raw)
		return
	}
	text, err := json.MarshalIndent(n.value("", v), "", " ")
	if err != nil {
		fmt.Fprintf(b, "%v: %s\n", err, m.Raw)
		return
	}
	fmt.Fprintf(b, "%s %s\n%s\n", m.Method, m.ID, text)
}
