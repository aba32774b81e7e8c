package turns

import (
	"context"
	"time"

	"codex-bridge.example/lifecycle/params"
	"codex-bridge.example/lifecycle/turn"
	"codex-bridge.example/rpc"
)

// enqueue handles bridge/turn/enqueue: {threadId or sessionKey, input, mode?, quietMs?, thread?} →
// {threadId, disposition, turnId?}, after the quiet time.
func (f *Feature) enqueue(p rpc.Value) (later, error) {
	a, in, err := said(p)
	if err != nil {
		return nil, err
	}
	m, err := f.message(p, in)
	if err != nil {
		return nil, err
	}
	begin, err := start(p, a)
	if err != nil {
		return nil, err
	}
	place, err := f.messages.Join(a.key())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		var c *conversation
		var wait func(context.Context) (turn.Delivery, error)
		err := place.Do(ctx, func(ctx context.Context) error {
			var err error
			if c, _, err = f.opened(ctx, a, begin); turn.IsThreadGone(err) {
				c, err = f.again(ctx, a)
			}
			if err != nil {
				return err
			}
			inbox, err := c.openInbox()
			if err != nil {
				return err
			}
			wait, err = inbox.Put(m)
			return err
		})
		if err != nil {
			return nil, err
		}
		r, err := wait(ctx)
		if err != nil {
			return nil, err
		}
		return struct {
			Thread      string           `json:"threadId"`
			Disposition turn.Disposition `json:"disposition"`
			Turn        string           `json:"turnId,omitempty"`
		}{c.thread.ID, r.Disposition, r.Turn}, nil
	}, nil
}

// message returns the message of a request. The configuration gives the default mode and quiet time.
func (f *Feature) message(p rpc.Value, in params.Input) (turn.Message, error) {
	now := f.o.Steering()
	m := turn.Message{Text: in.Text, Mode: turn.Mode(now.Mode), Quiet: time.Duration(now.Quiet)}
	mode, err := word(p, "mode")
	if err != nil {
		return m, err
	}
	if mode != "" {
		if m.Mode = turn.Mode(mode); !m.Mode.IsValid() {
			return m, invalid("params.mode: write steer, followup, queue or interrupt")
		}
	}
	if m.Quiet, err = turn.ReadQuiet(p.Get("quietMs"), m.Quiet); err != nil {
		return m, invalid("params.quietMs: %v", err)
	}
	for _, item := range in.Items {
		m.Input = append(m.Input, rpc.Encode(item))
	}
	return m, nil
}
