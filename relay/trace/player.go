package trace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"codex-bridge.example/rpc"
)

// maxReplayMessage is the maximum size of a message of the client, in bytes.
const maxReplayMessage = 64 << 20

// PathError is the error for a client that sends another message than the recorded one.
type PathError struct {
	Step int64  // the number of the event, its sourceSeq
	Want string // the recorded method
	Got  string // the method that the client has sent
}

func (e *PathError) Error() string {
	return fmt.Sprintf("the client sent %[2]s at event %[1]d, where the recording has %[3]s", e.Step, e.Got, e.Want)
}

// replayStep is a message that the client has sent or received.
type replayStep struct {
	DecodedEvent
	fromClient bool
}

// Player plays one trace.
type Player struct {
	speed float64
	steps []replayStep
}

// ErrNoConversation is the error for a trace without a message of a client.
var ErrNoConversation = errors.New("there is no conversation with a client in this trace")

// NewPlayer returns a Player for the events of a conversation. speed is the factor by which the replay is
// faster than the recording; 0: no pauses.
func NewPlayer(events []Event, speed float64) (*Player, error) {
	p := &Player{speed: speed}
	for _, e := range events {
		s, err := Decode(e)
		if err != nil {
			return nil, err
		}
		if s.From != "client" && s.To != "client" {
			continue
		}
		if s.Message == nil {
			return nil, fmt.Errorf("the message of event %d was too long to record, so the trace cannot be replayed; raise trace.max_event and record again", e.SourceSeq)
		}
		p.steps = append(p.steps, replayStep{s, s.From == "client"})
	}
	if len(p.steps) == 0 {
		return nil, ErrNoConversation
	}
	return p, restore(p.steps)
}

// Play plays to a client until the end of in. It returns nil at that end.
func (p *Player) Play(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines, framing := make(chan clientLine), make(chan rpc.Sink, 1)
	go func() { // ends with in, or with the first message after Play has returned
		defer close(lines)
		source, sink := rpc.DetectFraming(in, out, maxReplayMessage)
		framing <- sink
		for {
			l, err := nextLine(source)
			if errors.Is(err, io.EOF) {
				return
			}
			l.err = err
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	c := &playback{lines: lines, client: make(map[string]json.RawMessage)}
	select {
	case c.sink = <-framing: // the client speaks first
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
				err = c.send(s)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil // the client has ended the conversation
		}
		if err != nil {
			return err
		}
		last = s.Time
	}
	return c.drain(ctx)
}

// nextLine returns the next message of the client.
func nextLine(source rpc.Source) (l clientLine, err error) {
	text, err := source.Next()
	var refused *rpc.MessageError
	if errors.As(err, &refused) {
		return l, refused.Err
	}
	if err == nil {
		err = json.Unmarshal(text, &l)
		var other *json.UnmarshalTypeError
		if errors.As(err, &other) {
			err = nil // params of another form have no thread
		}
	}
	return l, err
}

func (p *Player) pause(ctx context.Context, d time.Duration) error {
	if p.speed <= 0 || d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(time.Duration(float64(d) / p.speed)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// clientLine is one message of the client.
type clientLine struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ThreadID string `json:"threadId"`
	} `json:"params"`
	err error
}

func (l clientLine) String() string {
	if l.Method == "" {
		return "a response to " + string(l.ID)
	}
	return l.Method
}

// playback is the state of one replay.
type playback struct {
	sink   rpc.Sink
	lines  <-chan clientLine
	early  []clientLine               // received before their step
	ahead  []replayStep               // of the client, from the current one on
	client map[string]json.RawMessage // ids of the client, by recorded id
}

// expect waits for the message of a step. Responses may come at any time, and messages of different
// threads in any order.
func (c *playback) expect(ctx context.Context, want replayStep) error {
	for i, l := range c.early {
		if l.matches(want) {
			c.early = append(c.early[:i], c.early[i+1:]...)
			c.recordID(l, want)
			return nil
		}
	}
	for {
		select {
		case l, ok := <-c.lines:
			switch {
			case !ok:
				return io.EOF
			case l.err != nil:
				return fmt.Errorf("cannot read from the client: %w", l.err)
			case l.matches(want):
				c.recordID(l, want)
				return nil
			case l.Method == "" || c.isLater(l, want):
				c.early = append(c.early, l)
			default:
				return c.fail(l, want)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// matches reports whether a message is that of a step.
func (l clientLine) matches(want replayStep) bool {
	switch {
	case l.Method != want.Method:
		return false
	case l.Method == "":
		return sameID(l.ID, []byte(want.ID))
	}
	return l.Params.ThreadID == "" || want.thread() == "" || l.Params.ThreadID == want.thread()
}

// sameID reports whether two ids are equal, also if they are escaped differently, as in "a\/b".
func sameID(a, b []byte) bool {
	ka, ok := idKey(a)
	kb, ok2 := idKey(b)
	return ok && ok2 && ka == kb
}

func idKey(text []byte) (string, bool) {
	doc, err := rpc.ParseValue(text)
	if err != nil {
		return "", false
	}
	id, ok := rpc.ParseID(doc.Root())
	return id.Key(), ok
}

// thread returns the thread that a message names or opens, or "".
func (s replayStep) thread() string {
	if id, ok := s.Params["threadId"].(string); ok {
		return id
	}
	if s.Method == "thread/start" {
		return s.ThreadID
	}
	return ""
}

// isLater reports whether a message belongs to a later step of another thread.
func (c *playback) isLater(l clientLine, want replayStep) bool {
	for _, s := range c.ahead {
		if id := s.thread(); id != "" && l.matches(s) {
			return id != want.thread()
		}
	}
	return false
}

// recordID keeps the id that the client has given to a request.
func (c *playback) recordID(l clientLine, want replayStep) {
	if want.ID != "" && want.Method != "" {
		c.client[want.ID] = l.ID
	}
}

// fail answers a message that does not match with an error, and returns it.
func (c *playback) fail(got clientLine, want replayStep) error {
	name := want.Method
	if name == "" {
		name = "a response to " + want.ID
	}
	err := &PathError{want.SourceSeq, name, got.String()}
	c.refuse(got, err)
	return err
}

func (c *playback) refuse(l clientLine, err error) {
	if l.Method == "" || len(l.ID) == 0 {
		return
	}
	raw, e := json.Marshal(map[string]any{"id": l.ID, "error": map[string]any{"code": rpc.CodeInvalidRequest, "message": err.Error()}})
	if e == nil {
		c.sink.WriteMessage(raw)
	}
}

// send sends a recorded message, a response with the id of the client.
func (c *playback) send(s replayStep) error {
	text := []byte(s.Message)
	if s.Method == "" {
		id, ok := c.client[s.ID]
		if !ok {
			return nil // the request is not in the trace
		}
		e, err := rpc.ParseEnvelope(text)
		if err != nil {
			return fmt.Errorf("event %d cannot be replayed: %w", s.SourceSeq, err)
		}
		patch := rpc.NewEnvelopePatch(e)
		patch.Replace(e.Root().Get("id"), id)
		text = patch.Bytes()
	}
	c.sink.WriteMessage(text)
	return c.sink.Err()
}

// drain refuses requests until the end of the input.
func (c *playback) drain(ctx context.Context) error {
	for {
		select {
		case l, ok := <-c.lines:
			if !ok {
				return nil
			}
			if l.err != nil {
				return fmt.Errorf("cannot read from the client: %w", l.err)
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
