package turns

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/lifecycle/turn"
	"codex-bridge.example/rpc"
)

const (
	tokenLifetime  = 5 * time.Minute
	uploadInterval = time.Minute
	// maxUploadTokens and maxRecentUploads bound the tokens and uploads that are kept; the oldest is
	// dropped.
	maxUploadTokens, maxRecentUploads = 100, 100
	tokenBytes                        = 6
	// maxReason is the maximum length of a reason, in characters.
	maxReason    = 2048
	uploadSource = "codex-bridge-diagnostics"
)

// uploadRequest names the threads to upload.
type uploadRequest struct {
	Of      address // zero means all open threads
	Threads []string
	Reason  string
}

// uploadPreview shows what would be uploaded.
type uploadPreview struct {
	Token     string `json:"token"`
	ExpiresMs int64  `json:"expiresInMs"`
	Threads   int    `json:"threads"` // their number
	Logs      bool   `json:"includeLogs"`
	Reason    string `json:"reason,omitempty"`
}

// uploadResult is the result for one thread.
type uploadResult struct {
	Thread string `json:"threadId"`
	Error  string `json:"error,omitempty"`
}

// preview handles bridge/diagnostics/preview: {sessionKey? or threadId?, reason?} → uploadPreview.
// Without sessionKey and threadId it is for all open threads.
func (f *Feature) preview(p rpc.Value) (later, error) {
	var r uploadRequest
	var err error
	if p.Get("sessionKey").Exists() || p.Get("threadId").Exists() {
		if r.Of, err = addressOf(p); err != nil {
			return nil, err
		}
	}
	if r.Reason, err = word(p, "reason"); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (any, error) {
		if r.Threads, err = f.threadsOf(ctx, r.Of); err != nil {
			return nil, err
		}
		return f.uploads.preview(r)
	}, nil
}

// upload handles bridge/diagnostics/upload: {token} → {threads: [{threadId, error?}]}.
func (f *Feature) upload(p rpc.Value) (later, error) {
	token, err := word(p, "token")
	if err != nil {
		return nil, err
	}
	if token == "" {
		return nil, invalid("params.token is not there; bridge/diagnostics/preview gives one")
	}
	return func(ctx context.Context) (any, error) {
		sent, err := f.uploads.upload(ctx, token, f.threadsOf)
		return map[string]any{"threads": sent}, err
	}, nil
}

// threadsOf returns the threads of an address now.
func (f *Feature) threadsOf(ctx context.Context, a address) ([]string, error) {
	if a == (address{}) {
		return f.o.Threads.All(), nil
	}
	if a.thread != "" {
		return []string{a.thread}, nil
	}
	b, err := f.o.Threads.Session(ctx, a.session)
	return []string{b.ThreadID}, err
}

// uploader keeps previews and recent uploads, in memory.
type uploader struct {
	codex turn.Codex

	mu     sync.Mutex
	shown  []shownPreview
	cooled []recentUpload // oldest first
}

type shownPreview struct {
	token string
	until time.Time
	of    uploadRequest
}

type recentUpload struct {
	what  string
	since time.Time
}

// preview returns a preview with a new token. It uploads nothing.
func (d *uploader) preview(r uploadRequest) (uploadPreview, error) {
	if r.Threads = tidy(r.Threads); len(r.Threads) == 0 {
		return uploadPreview{}, invalid("there is no thread to send anything of; start one, or name the session")
	}
	if reason := []rune(r.Reason); len(reason) > maxReason {
		r.Reason = string(reason[:maxReason])
	}
	var random [tokenBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	one := shownPreview{hex.EncodeToString(random[:]), time.Now().Add(tokenLifetime), r}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shown = append(d.shown, one); len(d.shown) > maxUploadTokens {
		d.shown = d.shown[1:]
	}
	return uploadPreview{one.token, tokenLifetime.Milliseconds(), len(r.Threads), true, r.Reason}, nil
}

// tidy returns the ids in order, without empty and repeated ones.
func tidy(threads []string) []string {
	return slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(threads))), func(id string) bool { return id == "" })
}

// upload uploads the threads of the preview with the token. now returns the threads of an address: if
// they have changed since the preview, upload returns an error and uploads nothing.
func (d *uploader) upload(ctx context.Context, token string, now func(context.Context, address) ([]string, error)) ([]uploadResult, error) {
	d.mu.Lock()
	_, asked, err := d.find(token)
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	threads, err := now(ctx, asked.Of)
	if err != nil {
		return nil, err
	}
	if err := d.take(token, tidy(threads)); err != nil {
		return nil, err
	}
	var out []uploadResult
	for _, thread := range asked.Threads {
		params := map[string]any{
			"classification": "bug", "threadId": thread, "includeLogs": true, "tags": map[string]string{"source": uploadSource},
		}
		if asked.Reason != "" {
			params["reason"] = asked.Reason
		}
		one := uploadResult{Thread: thread}
		if _, err := d.codex.Call(ctx, "feedback/upload", params); err != nil {
			one.Error = problem.Text(err)
		}
		out = append(out, one)
	}
	return out, nil
}

// find returns the preview with a token, and its index. d.mu must be locked.
func (d *uploader) find(token string) (int, uploadRequest, error) {
	d.shown = slices.DeleteFunc(d.shown, func(s shownPreview) bool { return !time.Now().Before(s.until) })
	i := slices.IndexFunc(d.shown, func(s shownPreview) bool { return s.token == token })
	if i < 0 {
		return 0, uploadRequest{}, invalid("the token is not known, or older than %v; ask for a preview", tokenLifetime)
	}
	return i, d.shown[i].of, nil
}

// take consumes a token and records the upload of its threads and address.
func (d *uploader) take(token string, threads []string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, asked, err := d.find(token)
	if err != nil {
		return err
	}
	if !slices.Equal(asked.Threads, threads) {
		d.shown = slices.Delete(d.shown, i, i+1)
		return invalid("other threads are meant now than were shown; ask for a preview")
	}
	what := []string{asked.Of.key()}
	for _, thread := range threads {
		what = append(what, address{thread: thread}.key())
	}
	today := time.Now()
	d.cooled = slices.DeleteFunc(d.cooled, func(c recentUpload) bool { return today.Sub(c.since) >= uploadInterval })
	for _, c := range d.cooled {
		if slices.Contains(what, c.what) {
			left := (uploadInterval - today.Sub(c.since)).Round(time.Second)
			return rpc.Errorf(rpc.CodeBusy, "this was sent a moment ago; try again in %v", left)
		}
	}
	d.shown = slices.Delete(d.shown, i, i+1)
	for _, w := range what {
		d.cooled = append(d.cooled, recentUpload{w, today})
	}
	if n := len(d.cooled) - 2*maxRecentUploads; n > 0 {
		d.cooled = slices.Delete(d.cooled, 0, n)
	}
	return nil
}
