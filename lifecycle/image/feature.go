package image

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/rpc"
)

// Method is the request that a client sends.
const Method = "bridge/image/describe"

// maxJobs is the maximum number of jobs at once. Each has its own app-server.
const maxJobs = 4

// Feature is a bridge.Feature. It must come before the features that apply a policy to requests.
type Feature struct {
	worker *Worker
	known  func() bool
	config atomic.Pointer[config.Image]
	peer   *bridge.Conn
	jobs   chan struct{}
	done   atomic.Int64
}

// NewFeature returns a Feature. known reports whether the client knows the bridge.
func NewFeature(w *Worker, cfg config.Image, known func() bool) *Feature {
	f := &Feature{worker: w, known: known, jobs: make(chan struct{}, maxJobs)}
	f.config.Store(&cfg)
	return f
}

// SetConfig sets the configuration for jobs that start later.
func (f *Feature) SetConfig(c *config.Config) { f.config.Store(&c.Image) }

// Attach implements bridge.Attacher.
func (f *Feature) Attach(p *bridge.Conn) { f.peer = p }

// Routes implements bridge.Feature.
func (f *Feature) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: Method, Why: "answered here, by a codex beside the conversation", HandleClient: f.describe}}
}

// Stage implements bridge.Feature.
func (*Feature) Stage() bridge.Stage { return bridge.BeforeGuard }

// State is the part of bridge/status about images.
type State struct {
	Running int   `json:"running"`
	Done    int64 `json:"done"`
}

// State returns the current state.
func (f *Feature) State() State { return State{len(f.jobs), f.done.Load()} }

func (f *Feature) describe(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
	if !f.known() || call.Kind != rpc.Request {
		return nil
	}
	select {
	case f.jobs <- struct{}{}:
	default:
		return rpc.Errorf(rpc.CodeBusy, "%d descriptions are running, which is the maximum; wait for one of them", maxJobs)
	}
	line, id := bytes.Clone(call.Bytes()), call.ID.Clone()
	call.HandleAsync(func(ctx context.Context, request *bridge.AsyncRequest) {
		result, err := f.answer(ctx, line)
		<-f.jobs
		if err != nil {
			request.Reply(rpc.EncodeError(id, err))
			return
		}
		f.done.Add(1)
		request.Reply(rpc.EncodeResult(id, result))
	})
	return nil
}

// answer returns the result for a client's request line.
func (f *Feature) answer(ctx context.Context, line []byte) (json.RawMessage, error) {
	m, err := rpc.ParseMessage(line)
	if err != nil { // impossible: it was parsed before
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
	go func() { // ends the job with the conversation
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
	result, err := f.worker.Describe(ctx, job, func(string) {})
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
	if images.Len() > maxImages { // before reading any image
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

// reading is a semaphore for decoding. A decoded image may be large, so one is decoded at a time.
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
			return Image{}, fmt.Errorf("dataBase64 is not valid base64: %w", err)
		}
		return decodeOne(ctx, raw)
	case !filepath.IsAbs(path):
		return Image{}, fmt.Errorf("the path %q is not absolute", path)
	}
	return Open(ctx, path)
}

// Open reads the image in a file. If ctx ends before it is decoded, Open returns ctx's cause.
func Open(ctx context.Context, path string) (Image, error) {
	file, err := config.OpenRegular(path)
	if err != nil {
		return Image{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Image{}, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return Image{}, err
	}
	if len(data) > maxBytes {
		return Image{}, fmt.Errorf("%s: it has %d bytes; the maximum is %d", path, info.Size(), maxBytes)
	}
	one, err := decodeOne(ctx, data)
	if err != nil {
		return Image{}, fmt.Errorf("%s: %w", path, err)
	}
	return one, nil
}
