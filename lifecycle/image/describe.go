package image

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/lifecycle/turn"
	"codex-bridge.example/rpc"
)

// listTimeout is the timeout of model/list.
const listTimeout = 5 * time.Second

// Policy decides which models may be used.
type Policy interface {
	AllowsModel(name string) bool
	Model(ctx context.Context, method string, m policy.Model) (policy.Model, *rpc.Error)
}

// Result is a description and the model that wrote it.
type Result struct {
	Text  string `json:"text"`
	Model string `json:"model"`
}

// describe runs a job on an initialised server. c gets the collector of the server's notifications.
func (w *Worker) describe(ctx context.Context, s *child.Client, c *atomic.Pointer[turn.Collector], job Job, cwd string, step func(string)) (Result, error) {
	job, err := w.withModel(ctx, s, job)
	if err != nil {
		return Result{}, err
	}
	servers, err := serverNames(ctx, s, cwd)
	if err != nil {
		return Result{}, err
	}
	started, err := s.Call(ctx, "thread/start", job.ThreadStart(cwd, servers))
	if err != nil {
		return Result{}, err
	}
	thread, ok := started.Get("thread").Get("id").Text()
	if sandbox := started.Get("sandbox").Get("type"); !ok || !sandbox.Is("readOnly") {
		return Result{}, rpc.Errorf(rpc.CodeNotVerified, "codex started a thread with the sandbox %s instead of readOnly; the images were not sent", sandbox.Raw())
	}
	step(fmt.Sprintf("%s looks at %s", job.Model, count(job.Images)))
	collected := turn.NewCollector(thread)
	c.Store(collected)
	running, err := s.Call(ctx, "turn/start", job.TurnStart(thread, cwd))
	if err != nil {
		return Result{}, err
	}
	now, ended := turn.ReadTurn(thread, running.Get("turn"))
	if collected.SetTurn(now.Turn); ended {
		collected.Take(now)
	}
	out, err := collected.Wait(ctx)
	switch {
	case err != nil:
		return Result{}, err
	case out.Status == turn.StatusFailed:
		return Result{}, errors.New(out.Problem)
	case out.All == "":
		return Result{}, errors.New("the turn ended without a text")
	}
	return Result{out.All, job.Model}, nil
}

// withModel returns the job with its model and effort.
func (w *Worker) withModel(ctx context.Context, s *child.Client, job Job) (Job, error) {
	listCtx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	listed, err := s.Call(listCtx, "model/list", modelListParams())
	if err != nil {
		return job, err
	}
	models := readModels(listed)
	if job.Model = strings.TrimSpace(job.Model); job.Model == "" {
		if job.Model, err = defaultModel(models, w.Policy.AllowsModel); err != nil {
			return job, rpc.Errorf(rpc.CodeInvalidParams, "%v", err)
		}
	}
	decided, refused := w.Policy.Model(ctx, Method, policy.Model{Name: job.Model, Effort: defaultEffort})
	if refused != nil {
		return job, refused
	}
	job.Model, job.Effort = decided.Name, decided.Effort
	if err := checkModel(models, job.Model); err != nil {
		return job, rpc.Errorf(rpc.CodeInvalidParams, "%v", err)
	}
	return job, nil
}

// serverNames returns the names of the MCP servers that the user's configuration would start.
func serverNames(ctx context.Context, s *child.Client, cwd string) ([]string, error) {
	read, err := s.Call(ctx, "config/read", map[string]any{"cwd": cwd, "includeLayers": false})
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range read.Get("config").Get("mcp_servers").Members() {
		names = append(names, name)
	}
	return names, nil
}

func count(images []Image) string {
	if len(images) == 1 {
		return "an image"
	}
	return fmt.Sprintf("%d images", len(images))
}
