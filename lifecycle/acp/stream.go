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

// Notice is what a conversation is told of the work that it has had started.
type Notice struct {
	Context string // "acp-spawn:RUN:progress"; a notice takes the place of one before with the same
	Text    string
}

// StreamOptions are what a Stream is made of. What is 0 is usual.
type StreamOptions struct {
	Run, Parent, Child, Agent string
	Tell                      func(Notice)
	Log                       io.WriteCloser // a line of JSON for all that is heard and told; nil: none is kept
	Quiet                     bool           // notices are in the log alone
	Now                       func() time.Time

	Flush    time.Duration // how long text is gathered; 2.5 s
	Stall    time.Duration // without output, until it is said so; 60 s
	Poll     time.Duration // how often that is looked at; 15 s
	Lifetime time.Duration // 6 h
}

const (
	snippet   = 220   // characters of a notice's text
	gathered  = 4_000 // that wait to be told, the last ones
	mostLog   = 16 << 20
	leastPoll = 250 * time.Millisecond
	leastLife = time.Second
)

// Stream tells a conversation of a run that it has had started: in pieces, when nothing
// comes, when something comes again, and how it ended. It is a Relay. Its goroutine ends
// with the run, with its lifetime, or with Dispose.
type Stream struct {
	o    StreamOptions
	in   chan func()
	stop chan struct{}
	once sync.Once
	done chan struct{}

	// Of the goroutine:
	text    string // not told yet
	flush   *time.Timer
	last    time.Time // output
	stalled bool
	over    bool
	logged  int
}

// NewStream begins to.
func NewStream(o StreamOptions) *Stream {
	usual := func(d *time.Duration, value, least time.Duration) {
		if *d <= 0 {
			*d = value
		}
		*d = max(*d, least)
	}
	usual(&o.Flush, 2500*time.Millisecond, 0)
	usual(&o.Stall, time.Minute, 0)
	usual(&o.Poll, 15*time.Second, leastPoll)
	usual(&o.Lifetime, 6*time.Hour, leastLife)
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

// Said takes a piece of what the agent says; one that it does not mean to say is kept in
// the log alone.
func (s *Stream) Said(text string, aside bool) {
	s.do(func() {
		s.log("assistant_delta", map[string]any{"delta": text, "aside": aside})
		if aside || text == "" {
			return
		}
		s.last = s.o.Now()
		if s.stalled {
			s.stalled = false
			s.notice("resumed", s.o.Agent+" resumed output.")
		}
		s.text += text
		if over := len([]rune(s.text)) - gathered; over > 0 {
			s.text = string([]rune(s.text)[over:])
		}
		if len([]rune(s.text)) >= snippet || strings.Contains(s.text, "\n\n") {
			s.tell()
			return
		}
		s.flush.Reset(s.o.Flush)
	})
}

// Ended is the end of the run: after a time, or by an error.
func (s *Stream) Ended(after time.Duration, failed bool, why string) {
	s.do(func() {
		s.log("lifecycle", map[string]any{"failed": failed, "error": why})
		s.tell()
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

// do has f done by the goroutine, while there is one.
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
			s.tell()
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

// tell tells what has been gathered.
func (s *Stream) tell() {
	s.flush.Stop()
	text := []rune(strings.Join(strings.Fields(s.text), " "))
	s.text = ""
	if len(text) == 0 {
		return
	}
	if len(text) > snippet {
		text = append(text[:snippet-1:snippet-1], '…')
	}
	s.notice("progress", s.o.Agent+": "+string(text))
}

func (s *Stream) notice(about, text string) {
	n := Notice{Context: "acp-spawn:" + s.o.Run + ":" + about, Text: text}
	s.log("system_event", map[string]any{"contextKey": n.Context, "text": text})
	if !s.o.Quiet {
		s.o.Tell(n)
	}
}

// log keeps a line, best effort: what can't be written is told all the same.
func (s *Stream) log(kind string, line map[string]any) {
	if s.o.Log == nil || s.logged > mostLog {
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
