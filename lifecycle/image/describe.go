package image

import (
	"context"
	"fmt"
	"strings"
	"time"

	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// listTimeout is the timeout of model/list.
const listTimeout = 5 * time.Second

// server is an initialised app-server. Its notifications go to the collector of the job.
type server interface {
	Call(ctx context.Context, method string, params any) (rpc.Value, error)
}

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

// task is a job with its working folder and policy.
type task struct {
	Job Job
	Cwd string
	// Policy judges the model of the job. It may be nil.
	Policy Policy
	// Step is called before the turn with a text for people. It may be nil.
	Step func(string)
}

// describe runs a task on a server. c must get the server's notifications.
func describe(ctx context.Context, s server, c *collector, t task) (Result, error) {
	step := t.Step
	if step == nil {
		step = func(string) {}
	}
	job, err := t.model(ctx, s)
	if err != nil {
		return Result{}, err
	}
	servers, err := serverNames(ctx, s, t.Cwd)
	if err != nil {
		return Result{}, err
	}
	started, err := s.Call(ctx, "thread/start", job.ThreadStart(t.Cwd, servers))
	if err != nil {
		return Result{}, err
	}
	thread, ok := started.Get("thread").Get("id").Text()
	if sandbox := started.Get("sandbox").Get("type"); !ok || !sandbox.Is("readOnly") {
		return Result{}, rpc.Errorf(rpc.CodeNotVerified, "codex started a thread with the sandbox %s instead of readOnly; the images were not sent", sandbox.Raw())
	}
	step(fmt.Sprintf("%s looks at %s", job.Model, count(job.Images)))
	turn, err := s.Call(ctx, "turn/start", job.TurnStart(thread, t.Cwd))
	if err != nil {
		return Result{}, err
	}
	c.SetTurn(thread, turn.Get("turn"))
	text, err := c.Text(ctx)
	return Result{text, job.Model}, err
}

// model returns the job with its model and effort.
func (t task) model(ctx context.Context, s server) (Job, error) {
	job := t.Job
	listCtx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	listed, err := s.Call(listCtx, "model/list", modelListParams())
	if err != nil {
		return job, err
	}
	models := readModels(listed)
	allowed := func(string) bool { return true }
	if t.Policy != nil {
		allowed = t.Policy.AllowsModel
	}
	if job.Model = strings.TrimSpace(job.Model); job.Model == "" {
		if job.Model, err = defaultModel(models, allowed); err != nil {
			return job, rpc.Errorf(rpc.CodeInvalidParams, "%v", err)
		}
	}
	if t.Policy != nil {
		decided, refused := t.Policy.Model(ctx, Method, policy.Model{Name: job.Model, Effort: defaultEffort})
		if refused != nil {
			return job, refused
		}
		job.Model, job.Effort = decided.Name, decided.Effort
	}
	if err := checkModel(models, job.Model); err != nil {
		return job, rpc.Errorf(rpc.CodeInvalidParams, "%v", err)
	}
	return job, nil
}

// serverNames returns the names of the MCP servers that the user's configuration would start.
func serverNames(ctx context.Context, s server, cwd string) ([]string, error) {
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
