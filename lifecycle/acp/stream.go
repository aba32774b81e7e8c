package acp

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"time"
)

// Notice is a message to the requester about a run.
type Notice struct {
	Context string // such as "acp-spawn:RUN:progress"; a notice replaces an earlier one with the same Context
	Text    string
}

// StreamOptions configure a Stream. A zero value means the default.
type StreamOptions struct {
	Run, Parent, Child, Agent string
	Notify                    func(Notice)
	Log                       io.WriteCloser // gets a line of JSON for each event and notice; may be nil
	Quiet                     bool           // notices go to the log only
	Now                       func() time.Time

	Flush    time.Duration // how long text is buffered; default 2.5 s
	Stall    time.Duration // time without output before a notice; default 60 s
	Poll     time.Duration // time between checks for a stall; default 15 s, at least 250 ms
	Lifetime time.Duration // default 6 h, at least 1 s
}

const (
	maxNotice   = 220   // characters of a notice's text
	maxBuffered = 4_000 // characters; older ones are dropped
	maxLogBytes = 16 << 20
	minPoll     = 250 * time.Millisecond
	minLifetime = time.Second
)

// Stream is a Relay that sends notices of a run: its text in pieces, a stall and its end, and the
// result. Its goroutine ends with the run, with its lifetime, or with Dispose.
type Stream struct {
	o    StreamOptions
	in   chan func()
	stop chan struct{}
	once sync.Once
	done chan struct{}

	// The goroutine owns the fields below.
	text    string // not sent yet
	flush   *time.Timer
	last    time.Time // of the last output
	stalled bool
	over    bool
	logged  int
}

// NewStream returns a Stream and starts its goroutine.
func NewStream(o StreamOptions) *Stream {
	setDefault := func(d *time.Duration, value, minimum time.Duration) {
		if *d <= 0 {
			*d = value
		}
		*d = max(*d, minimum)
	}
	setDefault(&o.Flush, 2500*time.Millisecond, 0)
	setDefault(&o.Stall, time.Minute, 0)
	setDefault(&o.Poll, 15*time.Second, minPoll)
	setDefault(&o.Lifetime, 6*time.Hour, minLifetime)
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Stream{o: o, in: make(chan func()), stop: make(chan struct{}), done: make(chan struct{})}
	go s.run()
	return s
}

// Started implements Relay.
func (s *Stream) Started() {
	s.do(func() { s.notice("start", s.o.Agent+" has begun; what it says follows here.") })
}

// Dispose implements Relay.
func (s *Stream) Dispose() {
	s.once.Do(func() { close(s.stop) })
	<-s.done
}

// AddText adds a piece of the agent's text. A thought goes to the log only.
func (s *Stream) AddText(text string, thought bool) {
	s.do(func() {
		s.log("assistant_delta", map[string]any{"delta": text, "aside": thought})
		if thought || text == "" {
			return
		}
		s.last = s.o.Now()
		if s.stalled {
			s.stalled = false
			s.notice("resumed", s.o.Agent+" resumed output.")
		}
		s.text += text
		if excess := len([]rune(s.text)) - maxBuffered; excess > 0 {
			s.text = string([]rune(s.text)[excess:])
		}
		if len([]rune(s.text)) >= maxNotice || strings.Contains(s.text, "\n\n") {
			s.sendText()
			return
		}
		s.flush.Reset(s.o.Flush)
	})
}

// Ended reports the end of the run after the given time. why is the error of a failed run.
func (s *Stream) Ended(after time.Duration, failed bool, why string) {
	s.do(func() {
		s.log("lifecycle", map[string]any{"failed": failed, "error": why})
		s.sendText()
		switch {
		case failed && why != "":
			s.notice("error", s.o.Agent+" run failed: "+why)
		case failed:
			s.notice("error", s.o.Agent+" run failed.")
		default:
			s.notice("done", fmt.Sprintf("%s run completed in %ds.", s.o.Agent, int(math.Round(after.Seconds()))))
		}
		s.over = true
	})
}

// do runs f in the goroutine, unless that has ended.
func (s *Stream) do(f func()) {
	select {
	case s.in <- f:
	case <-s.done:
	}
}

func (s *Stream) run() {
	defer close(s.done)
	if s.o.Log != nil {
		defer s.o.Log.Close()
	}
	s.last = s.o.Now()
	s.flush = time.NewTimer(time.Hour)
	s.flush.Stop()
	defer s.flush.Stop()
	poll := time.NewTicker(s.o.Poll)
	defer poll.Stop()
	life := time.NewTimer(s.o.Lifetime)
	defer life.Stop()
	for !s.over {
		select {
		case f := <-s.in:
			f()
		case <-s.flush.C:
			s.sendText()
		case <-poll.C:
			if silent := s.o.Now().Sub(s.last); !s.stalled && silent >= s.o.Stall {
				s.stalled = true
				s.notice("stall", fmt.Sprintf("%s has said nothing for %ds; it may wait for something.", s.o.Agent, int(silent.Seconds())))
			}
		case <-life.C:
			s.notice("timeout", fmt.Sprintf("%s is not told of any more after %s; its run may go on.", s.o.Agent, s.o.Lifetime))
			return
		case <-s.stop:
			return
		}
	}
}

// sendText sends the buffered text as a notice.
func (s *Stream) sendText() {
	s.flush.Stop()
	text := []rune(strings.Join(strings.Fields(s.text), " "))
	s.text = ""
	if len(text) == 0 {
		return
	}
	if len(text) > maxNotice {
		text = append(text[:maxNotice-1:maxNotice-1], '…')
	}
	s.notice("progress", s.o.Agent+": "+string(text))
}

func (s *Stream) notice(about, text string) {
	n := Notice{Context: "acp-spawn:" + s.o.Run + ":" + about, Text: text}
	s.log("system_event", map[string]any{"contextKey": n.Context, "text": text})
	if !s.o.Quiet {
		s.o.Notify(n)
	}
}

// log writes a line to the log. It ignores errors, because the notices matter more.
func (s *Stream) log(kind string, line map[string]any) {
	if s.o.Log == nil || s.logged > maxLogBytes {
		return
	}
	now := s.o.Now().UTC()
	line["ts"], line["epochMs"], line["kind"] = now.Format("2006-01-02T15:04:05.000Z07:00"), now.UnixMilli(), kind
	line["runId"], line["parentSessionKey"], line["childSessionKey"], line["agentId"] = s.o.Run, s.o.Parent, s.o.Child, s.o.Agent
	raw, err := json.Marshal(line)
	if err != nil {
		return
	}
	s.logged += len(raw) + 1
	_, _ = s.o.Log.Write(append(raw, '\n'))
}
