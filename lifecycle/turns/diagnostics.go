package turns

import (
	"context"

	"codex-bridge/rpc"
)

// token is the token of a preview with the preview's request.
type token struct {
	text   string
	of     address // zero means all open threads
	reason string
}

// preview handles bridge/diagnostics/preview: {sessionKey? or threadId?, reason?} → uploadPreview.
// Without sessionKey and threadId it is for all open threads.
func (f *Feature) preview(p rpc.Value) (later, error) {
	var t token
	var err error
	if p.Get("sessionKey").Exists() || p.Get("threadId").Exists() {
		if t.of, err = addressOf(p); err != nil {
			return nil, err
		}
	}
	if t.reason, err = word(p, "reason"); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		now, err := f.sendable(ctx, t)
		if err != nil {
			return nil, err
		}
		shown, err := f.uploads.preview(now)
		if err != nil {
			return nil, err
		}
		t.text = shown.Token
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.tokens = append(f.tokens, t); len(f.tokens) > maxUploadTokens {
			f.tokens = f.tokens[1:]
		}
		return shown, nil
	}, nil
}

// upload handles bridge/diagnostics/upload: {token} → {threads: [{threadId, error?}]}.
func (f *Feature) upload(p rpc.Value) (later, error) {
	text, err := word(p, "token")
	if err != nil {
		return nil, err
	}
	if text == "" {
		return nil, invalid("params.token is not there; bridge/diagnostics/preview gives one")
	}
	return func(ctx context.Context) (any, error) {
		t := token{text: text}
		f.mu.Lock()
		for _, known := range f.tokens {
			if known.text == text {
				t = known
			}
		}
		f.mu.Unlock()
		now, err := f.sendable(ctx, t)
		if err != nil {
			return nil, err
		}
		sent, err := f.uploads.upload(ctx, text, now)
		if err != nil {
			return nil, err
		}
		return map[string]any{"threads": sent}, nil
	}, nil
}

// sendable returns the current upload request for a token.
func (f *Feature) sendable(ctx context.Context, t token) (uploadRequest, error) {
	r := uploadRequest{Scope: t.of.session + "\x00" + t.of.thread, Reason: t.reason}
	switch {
	case t.of.thread != "":
		r.Threads = []string{t.of.thread}
	case t.of.session != "":
		b, err := f.o.Threads.Session(ctx, t.of.session)
		if err != nil {
			return r, err
		}
		r.Threads = []string{b.ThreadID}
	default:
		r.Threads = f.o.Threads.All()
	}
	return r, nil
}
