package follow

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"codex-bridge/rpc"
)

// Screen is where a turn is shown. Its methods may be called by several goroutines.
type Screen struct {
	Out, Err io.Writer
	Stream   bool // the reply as it comes; else the last message at the end
	Progress bool // Err is a terminal
	JSON     bool // Out gets events
	Now      func() time.Time

	mu      sync.Mutex
	thread  string // of the turn; "" not known yet
	turn    string
	item    string // that is being written
	written bool   // something of a message stands on Out
	midline bool   // Out's cursor is not at the start of a line
	drawn   string // the line of progress that stands on Err; "" none
	paused  bool   // a question stands on Err
	doing   string // "" nothing is known
	began   time.Time
	files   map[string][]string // of the patches that have begun and not ended, by their items
}

// running returns the turn that runs in the thread that params name; "" unknown, as that of
// a subagent.
func (s *Screen) running(params rpc.Value) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if thread, _ := params.Get("threadId").Text(); thread != s.thread {
		return ""
	}
	return s.turn
}

// filesOf returns the files of a patch that Codex has named so far.
func (s *Screen) filesOf(item string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[item]
}

// keep keeps the files of a patch, which Codex does not name in its question about it.
func (s *Screen) keep(item rpc.Value) {
	id, _ := item.Get("id").Text()
	if !item.Get("type").Is("fileChange") {
		return
	}
	if s.files == nil {
		s.files = make(map[string][]string)
	}
	s.files[id] = paths(item)
}

// event is a line of --json.
type event struct {
	Event  string          `json:"event"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpc.Error      `json:"error,omitempty"`
}

// Begin says that the turn has been asked for.
func (s *Screen) Begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began, s.doing = s.Now(), "starting"
	s.draw()
}

// Take shows a notification of the app-server's. Of other threads than the turn's, a
// subagent's for one, only JSON tells.
func (s *Screen) Take(method string, params rpc.Value) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.JSON {
		s.event(event{Event: method, Params: params.Raw()})
		return
	}
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
	case "item/started":
		s.keep(params.Get("item"))
		if what := Doing(params.Get("item")); what != "" {
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
	delete(s.files, id)
	if !item.Get("type").Is("agentMessage") {
		return
	}
	if text, _ := item.Get("text").Text(); s.item != id {
		s.write(id, text) // nothing of it has come before
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
	text = Plain(text)
	fmt.Fprintf(s.Out, "%s", text)
	s.midline = !strings.HasSuffix(text, "\n")
}

func (s *Screen) newline() {
	if s.midline {
		fmt.Fprintln(s.Out)
		s.midline = false
	}
}

// Tick draws the line of progress anew.
func (s *Screen) Tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.draw()
}

const (
	clearLine = "\r\x1b[K"
	// widest is how many characters of what is being done are shown: a line that wraps
	// could not be taken back.
	widest = 60
)

func (s *Screen) draw() {
	if !s.Progress || s.JSON || s.midline || s.paused || s.doing == "" {
		return
	}
	what := []rune(strings.Join(strings.Fields(Plain(s.doing)), " "))
	if len(what) > widest {
		what = append(what[:widest-1], '…')
	}
	line := fmt.Sprintf("· %s (%ds)", string(what), int(s.Now().Sub(s.began).Seconds()))
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

// Aside clears the place for something else on Err, and says it.
func (s *Screen) Aside(f func(err io.Writer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.newline()
	f(s.Err)
}

func (s *Screen) pause(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = on
}

// End shows how the turn ended: the reply of one that has completed, unless a stream has
// shown it already.
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
	case failed != nil: // the caller says so
	case result.Get("status").Is("completed") && (!s.Stream || !s.written):
		if text, _ := result.Get("text").Text(); text != "" {
			fmt.Fprintln(s.Out, strings.TrimRight(text, "\n"))
		}
	}
}

func (s *Screen) event(e event) {
	raw, err := json.Marshal(e)
	if err != nil {
		panic(err) // raw JSON of a parsed text
	}
	fmt.Fprintf(s.Out, "%s\n", raw)
}
