package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"codex-bridge/relay/trace"
	"codex-bridge/rpc"
)

// Options say how a trace is played.
type Options struct {
	// Speed is how much faster than it was; 0: without any pause.
	Speed float64
	// TraceID is the conversation of the file that is played; empty: the last one.
	TraceID string
	// Max bounds a message of the client; 0: 64 MiB.
	Max int
}

// PathError is where the client leaves what was recorded.
type PathError struct {
	Step int64  // the number of the event, its sourceSeq
	Want string // what the client did then
	Got  string // and does now
}

func (e *PathError) Error() string {
	return fmt.Sprintf("the client leaves the recorded path at event %d: it sends %s, where the recording has %s", e.Step, e.Got, e.Want)
}

// step is one event as the client sees it.
type step struct {
	trace.Step
	fromClient bool
}

// Player plays one trace.
type Player struct {
	options Options
	steps   []step
}

// ErrEmpty is a trace in which no client took part.
var ErrEmpty = errors.New("there is no conversation with a client in this trace")

// New reads a trace.
func New(events iter.Seq2[trace.Event, error], o Options) (*Player, error) {
	if o.Max == 0 {
		o.Max = 64 << 20
	}
	var all []trace.Event
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		if e.Type == trace.Damaged {
			continue
		}
		all = append(all, e)
	}
	if o.TraceID == "" && len(all) > 0 {
		o.TraceID = all[len(all)-1].TraceID
	}
	p := &Player{options: o}
	for _, e := range all {
		if e.TraceID != o.TraceID {
			continue
		}
		s, err := trace.Open(e)
		if err != nil {
			return nil, err
		}
		if s.From != "client" && s.To != "client" {
			continue
		}
		if s.Message == nil {
			return nil, fmt.Errorf("event %d was too long to be kept, so that it can't be played; raise trace.max_event", e.SourceSeq)
		}
		p.steps = append(p.steps, step{s, s.From == "client"})
	}
	if len(p.steps) == 0 {
		return nil, ErrEmpty
	}
	return p, restore(p.steps)
}

// Play plays to a client. It returns nil when the client has gone, or has heard everything
// and gone.
func (p *Player) Play(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard, framing := make(chan line), make(chan rpc.Sink, 1)
	go func() { // ends with the input, or with the first message after the end of the play
		defer close(heard)
		source, sink := rpc.DetectFraming(in, out, p.options.Max)
		framing <- sink
		for {
			l, err := next(source)
			if errors.Is(err, io.EOF) {
				return
			}
			l.err = err
			select {
			case heard <- l:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	c := &conversation{heard: heard, client: make(map[string]json.RawMessage)}
	select {
	case c.sink = <-framing: // codex says nothing before it is spoken to
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for _, s := range p.steps {
		if s.fromClient {
			c.ahead = append(c.ahead, s)
		}
	}
	last := p.steps[0].Time
	for _, s := range p.steps {
		var err error
		if s.fromClient {
			err = c.expect(ctx, s)
			c.ahead = c.ahead[1:]
		} else {
			if err = p.pause(ctx, s.Time.Sub(last)); err == nil {
				err = c.say(s)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil // the client has heard enough
		}
		if err != nil {
			return err
		}
		last = s.Time
	}
	return c.rest(ctx)
}

// next is the client's next message.
func next(source rpc.Source) (l line, err error) {
	text, err := source.Next()
	var refused *rpc.MessageError
	if errors.As(err, &refused) {
		return l, refused.Err
	}
	if err == nil {
		err = json.Unmarshal(text, &l)
		var other *json.UnmarshalTypeError
		if errors.As(err, &other) {
			err = nil // params of another form name no thread
		}
	}
	return l, err
}

func (p *Player) pause(ctx context.Context, d time.Duration) error {
	if p.options.Speed <= 0 || d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(time.Duration(float64(d) / p.options.Speed)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// line is one message of the client.
type line struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ThreadID string `json:"threadId"`
	} `json:"params"`
	err error
}

func (l line) String() string {
	if l.Method == "" {
		return "an answer to " + string(l.ID)
	}
	return l.Method
}

// conversation is one play.
type conversation struct {
	sink   rpc.Sink
	heard  <-chan line
	early  []line                     // what came before its place
	ahead  []step                     // what the client has still to send, beginning with what is waited for
	client map[string]json.RawMessage // the client's ids, by those of the recording
}

// expect waits for what the client sent at this place. An answer may come earlier or later
// than it did, since codex took it at any time, too; and what a client does in one thread is
// in no sure order with what it does in another.
func (c *conversation) expect(ctx context.Context, want step) error {
	for i, l := range c.early {
		if l.fits(want) {
			c.early = append(c.early[:i], c.early[i+1:]...)
			c.met(l, want)
			return nil
		}
	}
	for {
		select {
		case l, ok := <-c.heard:
			switch {
			case !ok:
				return io.EOF
			case l.err != nil:
				return fmt.Errorf("the client can't be read: %w", l.err)
			case l.fits(want):
				c.met(l, want)
				return nil
			case l.Method == "" || c.comes(l, want):
				c.early = append(c.early, l)
			default:
				return c.leave(l, want)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// fits tells whether a message is the one of a step.
func (l line) fits(want step) bool {
	switch {
	case l.Method != want.Method:
		return false
	case l.Method == "":
		return sameID(l.ID, []byte(want.ID))
	}
	return l.Params.ThreadID == "" || want.thread() == "" || l.Params.ThreadID == want.thread()
}

// sameID tells whether two ids are one, as Codex does: however they are written. Lua's
// encoders write "a\/b".
func sameID(a, b []byte) bool {
	ka, ok := idKey(a)
	kb, too := idKey(b)
	return ok && too && ka == kb
}

func idKey(text []byte) (string, bool) {
	doc, err := rpc.ParseValue(text)
	if err != nil {
		return "", false
	}
	id, ok := rpc.ParseID(doc.Root())
	return id.Key(), ok
}

// thread is the one that a message is about, or opens.
func (s step) thread() string {
	if id, ok := s.Params["threadId"].(string); ok {
		return id
	}
	if s.Method == "thread/start" {
		return s.ThreadID
	}
	return ""
}

// comes tells whether a message is one that is still to come, of another thread than that
// which is waited for.
func (c *conversation) comes(l line, want step) bool {
	for _, s := range c.ahead {
		if id := s.thread(); id != "" && l.fits(s) {
			return id != want.thread()
		}
	}
	return false
}

// met notes the id that the client gave to its message.
func (c *conversation) met(l line, want step) {
	if want.ID != "" && want.Method != "" {
		c.client[want.ID] = l.ID
	}
}

// leave tells the client that it is on its own.
func (c *conversation) leave(got line, want step) error {
	name := want.Method
	if name == "" {
		name = "an answer to " + want.ID
	}
	err := &PathError{want.SourceSeq, name, got.String()}
	c.refuse(got, err)
	return err
}

func (c *conversation) refuse(l line, err error) {
	if l.Method == "" || len(l.ID) == 0 {
		return
	}
	raw, e := json.Marshal(map[string]any{"id": l.ID, "error": map[string]any{"code": rpc.CodeInvalidRequest, "message": err.Error()}})
	if e == nil {
		c.sink.WriteMessage(raw)
	}
}

// say says what was said, with the client's id where it is an answer.
func (c *conversation) say(s step) error {
	text := []byte(s.Message)
	if s.Method == "" {
		id, ok := c.client[s.ID]
		if !ok {
			return nil // it answers what the file does not have
		}
		e, err := rpc.ParseEnvelope(text)
		if err != nil {
			return fmt.Errorf("event %d can't be played: %w", s.SourceSeq, err)
		}
		patch := rpc.NewEnvelopePatch(e)
		patch.Replace(e.Root().Get("id"), id)
		text = patch.Bytes()
	}
	c.sink.WriteMessage(text)
	return c.sink.Err()
}

// rest waits for the client to go. What it still asks for was not recorded.
func (c *conversation) rest(ctx context.Context) error {
	for {
		select {
		case l, ok := <-c.heard:
			if !ok {
				return nil
			}
			if l.err != nil {
				return fmt.Errorf("the client can't be read: %w", l.err)
			}
			if l.Method != "" {
				err := &PathError{Step: 0, Want: "its end", Got: l.Method}
				c.refuse(l, err)
				if len(l.ID) > 0 {
					return err
				}
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
