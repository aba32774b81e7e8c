package image

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"codex-bridge/bridge"
	"codex-bridge/bridge/config"
	"codex-bridge/rpc"
)

// Method is what a client calls.
const Method = "bridge/image/describe"

// maxJobs is how many jobs are done at once: each is a Codex of its own.
const maxJobs = 4

// Feature is a bridge.Feature. It must stand before those that hold requests to a policy.
type Feature struct {
	worker *Worker
	known  func() bool
	config atomic.Pointer[config.Image]
	peer   *bridge.Conn
	jobs   chan struct{}
	done   atomic.Int64
}

// NewFeature makes a Feature. known tells whether the client knows the bridge.
func NewFeature(w *Worker, cfg config.Image, known func() bool) *Feature {
	f := &Feature{worker: w, known: known, jobs: make(chan struct{}, maxJobs)}
	f.config.Store(&cfg)
	return f
}

// SetConfig puts another configuration in force, for jobs that begin from now on.
func (f *Feature) SetConfig(c *config.Config) { f.config.Store(&c.Image) }

// Attach implements bridge.Attacher.
func (f *Feature) Attach(p *bridge.Conn) { f.peer = p }

// Routes implements bridge.Feature.
func (f *Feature) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: Method, Why: "answered here, by a codex beside the conversation", HandleClient: f.describe}}
}

// State is what bridge/status shows.
type State struct {
	Running int   `json:"running"`
	Done    int64 `json:"done"`
}

// State is what is known now.
func (f *Feature) State() State { return State{len(f.jobs), f.done.Load()} }

func (f *Feature) describe(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	if !f.known() || call.Kind != rpc.Request {
		return nil
	}
	select {
	case f.jobs <- struct{}{}:
	default:
		return rpc.Errorf(rpc.CodeBusy, "%d descriptions are under way, and more are not done at once; wait for one of them", maxJobs)
	}
	line, id := bytes.Clone(call.Bytes()), call.ID.Clone()
	call.HandleAsync(func(ctx context.Context, aside *bridge.AsyncRequest) {
		result, err := f.answer(ctx, line)
		<-f.jobs
		if err != nil {
			aside.Reply(rpc.EncodeError(id, err))
			return
		}
		f.done.Add(1)
		aside.Reply(rpc.EncodeResult(id, result))
	})
	return nil
}

// answer does what a client's line asks for.
func (f *Feature) answer(ctx context.Context, line []byte) (json.RawMessage, error) {
	m, err := rpc.ParseMessage(line)
	if err != nil { // it was parsed once
		return nil, err
	}
	if m.Truncated() {
		return nil, rpc.Errorf(rpc.CodeTooLarge, "%s has more values than are looked at; send less", Method)
	}
	cfg := f.config.Load()
	job, within, err := readRequest(m.Params)
	if err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s: %v", Method, err)
	}
	if job.Model == "" {
		job.Model = cfg.Model
	}
	if within == 0 {
		within = time.Duration(cfg.Timeout)
	}
	ctx, end := WithTimeout(ctx, within)
	defer end()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() { // a job does not outlive the conversation
		select {
		case <-f.peer.CodexDone():
			cancel(rpc.Errorf(rpc.CodeUpstream, "the conversation has ended"))
		case <-stop:
		}
	}()
	if job.Images, err = readImages(ctx, m.Params.Get("images")); ctx.Err() != nil {
		return nil, context.Cause(ctx)
	} else if err != nil {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "%s: %v", Method, err)
	}
	result, err := f.worker.Describe(ctx, job, nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(result)
}

// readRequest reads a client's request: the job without its images, and its timeout.
func readRequest(params rpc.Value) (job Job, within time.Duration, err error) {
	text := func(name string) string {
		v := params.Get(name)
		s, ok := v.Text()
		if !ok && v.Exists() && v.Kind() != rpc.Null {
			err = errors.Join(err, fmt.Errorf("%s is %v, not a string", name, v.Kind()))
		}
		return s
	}
	job.Prompt, job.Model = text("prompt"), text("model")
	if v := params.Get("timeoutMs"); v.Exists() && v.Kind() != rpc.Null {
		ms, bad := strconv.ParseInt(string(v.Raw()), 10, 32)
		if bad != nil || ms < 1 {
			err = errors.Join(err, fmt.Errorf("timeoutMs is %s, not a number of milliseconds", v.Raw()))
		}
		within = time.Duration(ms) * time.Millisecond
	}
	images := params.Get("images")
	if images.Kind() != rpc.Array {
		err = errors.Join(err, fmt.Errorf("images is %v, not a list of {dataBase64} or {path}", images.Kind()))
	}
	if images.Len() > maxImages { // before any is read
		return job, 0, checkImages(make([]Image, images.Len()))
	}
	return job, within, err
}

// readImages reads the images of a request.
func readImages(ctx context.Context, list rpc.Value) (all []Image, err error) {
	for v := range list.Elements() {
		one, err := readImage(ctx, v)
		if err != nil {
			if name, ok := v.Get("name").Text(); ok {
				err = fmt.Errorf("%q: %w", name, err)
			}
			return nil, fmt.Errorf("images[%d]: %w", len(all), err)
		}
		all = append(all, one)
	}
	return all, checkImages(all)
}

// reading is held by who decodes an image: one in memory is enough, whatever jobs there are.
var reading = make(chan struct{}, 1)

func decodeOne(ctx context.Context, data []byte) (Image, error) {
	select {
	case reading <- struct{}{}:
		defer func() { <-reading }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return Image{}, context.Cause(ctx)
	}
	return decode(data)
}

func readImage(ctx context.Context, v rpc.Value) (Image, error) {
	data, inline := v.Get("dataBase64").Text()
	path, named := v.Get("path").Text()
	switch {
	case inline == named:
		return Image{}, errors.New("give either dataBase64 or path")
	case inline:
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return Image{}, fmt.Errorf("dataBase64 is no base64: %w", err)
		}
		return decodeOne(ctx, raw)
	case !filepath.IsAbs(path):
		return Image{}, fmt.Errorf("the path %q is not absolute", path)
	}
	return Open(ctx, path)
}

// Open is the image in a file, unless ctx has ended before it is looked at.
func Open(ctx context.Context, path string) (Image, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Image{}, err
	}
	if !info.Mode().IsRegular() { // to open another may wait for ever
		return Image{}, fmt.Errorf("%s is no file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return Image{}, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return Image{}, err
	}
	if len(data) > maxBytes {
		return Image{}, fmt.Errorf("%s: it has %d bytes, and %d are allowed; make it smaller", path, info.Size(), maxBytes)
	}
	one, err := decodeOne(ctx, data)
	if err != nil {
		return Image{}, fmt.Errorf("%s: %w", path, err)
	}
	return one, nil
}
