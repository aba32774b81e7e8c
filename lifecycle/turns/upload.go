package turns

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"codex-bridge/lifecycle/turn"
	"codex-bridge/rpc"
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

// uploadRequest names the threads to upload. A preview for one Scope can't be
// uploaded for another.
type uploadRequest struct {
	Scope   string
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

func newUploader(c turn.Codex) *uploader { return &uploader{codex: c} }

// preview returns a preview with a new token. It uploads nothing.
func (d *uploader) preview(r uploadRequest) (uploadPreview, error) {
	if r = r.tidy(); len(r.Threads) == 0 {
		return uploadPreview{}, rpc.Errorf(rpc.CodeInvalidParams, "there is no thread to send anything of; start one, or name the session")
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

func (r uploadRequest) tidy() uploadRequest {
	r.Threads = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(r.Threads))), func(id string) bool { return id == "" })
	if reason := []rune(r.Reason); len(reason) > maxReason {
		r.Reason = string(reason[:maxReason])
	}
	return r
}

// upload uploads the threads of the preview with the token. now is the same request today: if its
// threads or its scope differ, upload returns an error and uploads nothing.
func (d *uploader) upload(ctx context.Context, token string, now uploadRequest) ([]uploadResult, error) {
	asked, err := d.take(token, now.tidy())
	if err != nil {
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
			one.Error = err.Error()
		}
		out = append(out, one)
	}
	return out, nil
}

// take consumes a token and records the upload of its threads and scope.
func (d *uploader) take(token string, now uploadRequest) (uploadRequest, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	today := time.Now()
	d.shown = slices.DeleteFunc(d.shown, func(s shownPreview) bool { return !today.Before(s.until) })
	d.cooled = slices.DeleteFunc(d.cooled, func(c recentUpload) bool { return today.Sub(c.since) >= uploadInterval })
	i := slices.IndexFunc(d.shown, func(s shownPreview) bool { return s.token == token && s.of.Scope == now.Scope })
	if i < 0 {
		return uploadRequest{}, rpc.Errorf(rpc.CodeInvalidParams, "the token is not known, or older than %v; ask for a preview", tokenLifetime)
	}
	asked := d.shown[i].of
	if !slices.Equal(asked.Threads, now.Threads) {
		d.shown = slices.Delete(d.shown, i, i+1)
		return uploadRequest{}, rpc.Errorf(rpc.CodeInvalidParams, "other threads are meant now than were shown; ask for a preview")
	}
	what := []string{"scope " + asked.Scope}
	for _, thread := range asked.Threads {
		what = append(what, "thread "+thread)
	}
	for _, c := range d.cooled {
		if slices.Contains(what, c.what) {
			left := (uploadInterval - today.Sub(c.since)).Round(time.Second)
			return uploadRequest{}, rpc.Errorf(rpc.CodeBusy, "this was sent a moment ago; try again in %v", left)
		}
	}
	d.shown = slices.Delete(d.shown, i, i+1)
	for _, w := range what {
		d.cooled = append(d.cooled, recentUpload{w, today})
	}
	if n := len(d.cooled) - 2*maxRecentUploads; n > 0 {
		d.cooled = slices.Delete(d.cooled, 0, n)
	}
	return asked, nil
}
