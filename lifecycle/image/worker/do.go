package worker

import (
	"context"
	"fmt"
	"strings"
	"time"

	"codex-bridge/bridge/policy"
	"codex-bridge/lifecycle/image"
	"codex-bridge/rpc"
)

// listing is how long Codex may take to name its models.
const listing = 5 * time.Second

// Server is an app-server that is initialised. What it says goes to the Collector of the
// job.
type Server interface {
	Call(ctx context.Context, method string, params any) (rpc.Value, error)
}

// Hold is what the policy says of models.
type Hold interface {
	AllowsModel(name string) bool
	Model(ctx context.Context, method string, m policy.Model) (policy.Model, *rpc.Error)
}

// Result is the description, and by which model it is.
type Result struct {
	Text  string `json:"text"`
	Model string `json:"model"`
}

// Task is a job, and how it is done.
type Task struct {
	Job image.Job
	Cwd string
	// Hold is the policy that the job is held to; nil: none.
	Hold Hold
	// Step hears of each step, for people; nil: nobody does.
	Step func(string)
}

// Do has a server do a task, before ctx ends.
func Do(ctx context.Context, s Server, heard *image.Collector, t Task) (Result, error) {
	step := t.Step
	if step == nil {
		step = func(string) {}
	}
	job, err := t.model(ctx, s)
	if err != nil {
		return Result{}, err
	}
	servers, err := servers(ctx, s, t.Cwd)
	if err != nil {
		return Result{}, err
	}
	started, err := s.Call(ctx, "thread/start", job.ThreadStart(t.Cwd, servers))
	if err != nil {
		return Result{}, err
	}
	thread, ok := started.Get("thread").Get("id").Text()
	if sandbox := started.Get("sandbox").Get("type"); !ok || !sandbox.Is("readOnly") {
		return Result{}, rpc.Errorf(rpc.CodeNotVerified, "codex has started a thread with the sandbox %s, and readOnly was asked for; nothing was sent", sandbox.Raw())
	}
	step(fmt.Sprintf("%s looks at %s", job.Model, count(job.Images)))
	turn, err := s.Call(ctx, "turn/start", job.TurnStart(thread, t.Cwd))
	if err != nil {
		return Result{}, err
	}
	heard.Started(thread, turn.Get("turn"))
	text, err := heard.Text(ctx)
	return Result{text, job.Model}, err
}

// model settles which model it is.
func (t Task) model(ctx context.Context, s Server) (image.Job, error) {
	job := t.Job
	soon, cancel := context.WithTimeout(ctx, listing)
	defer cancel()
	listed, err := s.Call(soon, "model/list", image.ModelList())
	if err != nil {
		return job, err
	}
	models := image.Models(listed)
	allowed := func(string) bool { return true }
	if t.Hold != nil {
		allowed = t.Hold.AllowsModel
	}
	if job.Model = strings.TrimSpace(job.Model); job.Model == "" {
		if job.Model, err = image.Usual(models, allowed); err != nil {
			return job, rpc.Errorf(rpc.CodeInvalidParams, "%v", err)
		}
	}
	if t.Hold != nil {
		held, refused := t.Hold.Model(ctx, Method, policy.Model{Name: job.Model, Effort: image.Effort})
		if refused != nil {
			return job, refused
		}
		job.Model, job.Effort = held.Name, held.Effort
	}
	if err := image.Suits(models, job.Model); err != nil {
		return job, rpc.Errorf(rpc.CodeInvalidParams, "%v", err)
	}
	return job, nil
}

// servers are the names of the MCP servers that the user's configuration would start.
func servers(ctx context.Context, s Server, cwd string) ([]string, error) {
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

func count(images []image.Image) string {
	if len(images) == 1 {
		return "an image"
	}
	return fmt.Sprintf("%d images", len(images))
}
