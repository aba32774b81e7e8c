package follow

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/relay/answer"
	"codex-bridge.example/rpc"
)

// Screen shows a turn. Its methods may be called concurrently.
type Screen struct {
	Out, Err io.Writer
	Stream   bool // show the reply while Codex writes it; else the last message at the end
	Progress bool // Err is a terminal
	JSON     bool // Out gets events
	Now      func() time.Time
	Line     func(text string) // prints a line of text on Err; nil: as it is

	mu      sync.Mutex
	thread  string // of the turn; "" if unknown
	turn    string
	item    string // that Codex is writing
	written bool   // a part of a message is on Out
	midline bool   // the cursor of Out is not at the start of a line
	drawn   string // the progress line on Err; "" for none
	paused  bool   // a question is on Err
	doing   string // the activity of Codex; "" if unknown
	began   time.Time
	patches map[string][]string // lines about the open patches, by item
	noticed map[string]bool     // the keys of notices on Err
}

// running returns the running turn of the thread in params; "" if unknown, as for a subagent.
func (s *Screen) running(params rpc.Value) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if thread, _ := params.Get("threadId").Text(); thread != s.thread {
		return ""
	}
	return s.turn
}

// patchOf returns the lines about a patch that Codex, or the bridge in its form, has announced.
func (s *Screen) patchOf(item string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if lines, ok := s.patches[item]; ok {
		return lines
	}
	return answer.PatchLines(rpc.Value{})
}

// recordPatch records what a patch changes. Codex does not say it in its question about the patch.
func (s *Screen) recordPatch(id string, changes rpc.Value) {
	if s.patches == nil {
		s.patches = make(map[string][]string)
	}
	s.patches[id] = answer.PatchLines(changes)
}

// event is a line of the JSON output.
type event struct {
	Event  string          `json:"event"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpc.Error      `json:"error,omitempty"`
}

// Begin prints that the turn was requested.
func (s *Screen) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began, s.doing = s.Now(), "starting"
	s.draw()
}

// Show shows a notification of the app-server. Those of other threads, such as a subagent's, are only in the JSON
// output, except decisions of the policy.
func (s *Screen) Show(method string, params rpc.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.JSON {
		s.event(event{Event: method, Params: params.Raw()})
		return
	}
	s.warn(method, params)
	if thread, _ := params.Get("threadId").Text(); method == "turn/started" && s.thread == "" {
		s.thread, s.doing = thread, "thinking"
	} else if s.thread == "" || thread != s.thread {
		return
	}
	switch method {
	case "turn/started":
		s.turn, _ = params.Get("turn").Get("id").Text()
	case "item/agentMessage/delta":
		id, _ := params.Get("itemId").Text()
		text, _ := params.Get("delta").Text()
		s.write(id, text)
	case "item/fileChange/patchUpdated":
		id, _ := params.Get("itemId").Text()
		s.recordPatch(id, params.Get("changes"))
	case "item/started":
		if item := params.Get("item"); item.Get("type").Is("fileChange") {
			id, _ := item.Get("id").Text()
			s.recordPatch(id, item.Get("changes"))
		}
		if what := DescribeItem(params.Get("item")); what != "" {
			s.doing = what
		}
	case "item/completed":
		s.completed(params.Get("item"))
	case "error":
		if again, _ := params.Get("willRetry").Bool(); again {
			text, _ := params.Get("error").Get("message").Text()
			s.doing = "trying again: " + text
		}
	}
	s.draw()
}

func (s *Screen) completed(item rpc.Value) {
	s.doing = "thinking"
	id, _ := item.Get("id").Text()
	delete(s.patches, id)
	if !item.Get("type").Is("agentMessage") {
		return
	}
	if text, _ := item.Get("text").Text(); s.item != id {
		s.write(id, text) // no part was shown before
	}
	s.newline()
	s.item = ""
}

// write writes a part of a message.
func (s *Screen) write(id, text string) {
	if !s.Stream || text == "" {
		return
	}
	s.erase()
	if s.item != id {
		s.newline()
		if s.written {
			fmt.Fprintln(s.Out)
		}
	}
	s.item, s.written = id, true
	text = StripControls(text)
	fmt.Fprintf(s.Out, "%s", text)
	s.midline = !strings.HasSuffix(text, "\n")
}

func (s *Screen) newline() {
	if s.midline {
		fmt.Fprintln(s.Out)
		s.midline = false
	}
}

// Tick redraws the progress line.
func (s *Screen) Tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw()
}

const (
	clearLine = "\r\x1b[K"
	// widest limits the text of the progress line: a wrapped line could not be erased.
	widest = 60
)

func (s *Screen) draw() {
	if !s.Progress || s.JSON || s.midline || s.paused || s.doing == "" {
		return
	}
	what := display.Line(s.doing)
	if PrefixLen(what, widest) < len(what) {
		what = what[:PrefixLen(what, widest-1)] + "…"
	}
	line := fmt.Sprintf("· %s (%ds)", what, int(s.Now().Sub(s.began).Seconds()))
	if line != s.drawn {
		fmt.Fprintf(s.Err, "%s%s", clearLine, line)
		s.drawn = line
	}
}

func (s *Screen) erase() {
	if s.drawn != "" {
		fmt.Fprintf(s.Err, "%s", clearLine)
		s.drawn = ""
	}
}

// Interrupt erases the progress line and calls f to write to Err.
func (s *Screen) Interrupt(f func(err io.Writer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt(f)
}

func (s *Screen) interrupt(f func(err io.Writer)) {
	s.erase()
	s.newline()
	f(s.Err)
}

// Warn writes a warning of the bridge about a thread to the JSON output, in the form of Codex's notification
// warning.
func (s *Screen) Warn(thread, text string) {
	params, err := json.Marshal(map[string]string{"threadId": thread, "message": text})
	if err != nil {
		panic(err) // strings
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.event(event{Event: "warning", Params: params})
}

func (s *Screen) pause(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = on
}

// End shows the result of the turn: the reply of a completed turn, unless it was streamed.
func (s *Screen) End(result rpc.Value, failed *rpc.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doing = ""
	s.erase()
	s.newline()
	switch {
	case s.JSON && failed != nil:
		s.event(event{Event: "error", Error: failed})
	case s.JSON:
		s.event(event{Event: "result", Result: result.Raw()})
	case failed != nil: // the caller prints the error
	case result.Get("status").Is("completed") && (!s.Stream || !s.written):
		if text, _ := result.Get("text").Text(); text != "" {
			fmt.Fprintln(s.Out, strings.TrimRight(text, "\n"))
		}
	}
}

func (s *Screen) event(e event) {
	raw, err := json.Marshal(e)
	if err != nil {
		panic(err) // raw JSON of a parsed value
	}
	fmt.Fprintf(s.Out, "%s\n", raw)
}
