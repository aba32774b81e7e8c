package headless

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/rpc"
)

// open opens the thread. As in `codex exec`, a session that is not found means a new thread, unless it
// is named by its id. The bridge starts in the folder of a new thread: with a cwd, Codex would trust the
// project for good.
func (r *execRun) open(ctx context.Context) (rpc.Value, error) {
	params := make(map[string]any)
	if r.never {
		params["approvalPolicy"] = "never"
	}
	for flag, field := range map[string]string{"--model": "model", "--sandbox": "sandbox"} {
		if value, ok := r.flags[flag]; ok {
			params[field] = value
		}
	}
	if r.has("--approve-for-me") {
		params["approvalPolicy"], params["approvalsReviewer"], params["sandbox"] = "on-request", "auto_review", "workspace-write"
	}
	if err := r.setProvider(params); err != nil {
		return rpc.Value{}, err
	}
	if r.sub == "resume" {
		id, err := r.session(ctx)
		if err != nil {
			return rpc.Value{}, err
		}
		if id != "" {
			return r.reopen(ctx, "thread/resume", id, params)
		}
	}
	if len(r.addDirs) > 0 {
		params["runtimeWorkspaceRoots"] = r.workspaceRoots()
	}
	if source, ok := r.flags["--thread-source"]; ok {
		params["threadSource"] = source
	}
	params["ephemeral"] = r.has("--ephemeral")
	if r.sub == "fork" {
		id, err := r.session(ctx)
		if err != nil {
			return rpc.Value{}, err
		}
		if id == "" {
			return rpc.Value{}, execError("Session not found: %s", r.words[0])
		}
		return r.reopen(ctx, "thread/fork", id, params)
	}
	return r.call(ctx, "thread/start", params)
}

// workspaceRoots returns the folder of the thread and those of --add-dir.
func (r *execRun) workspaceRoots() []string { return append([]string{r.cwd}, r.addDirs...) }

// reopen opens a thread that exists. Without a sandbox and roots, an app-server would keep the thread's own. exec takes
// the sandbox of the configuration, and the roots of its command line (measured).
func (r *execRun) reopen(ctx context.Context, method, id string, params map[string]any) (rpc.Value, error) {
	params["threadId"], params["excludeTurns"], params["cwd"], params["runtimeWorkspaceRoots"] = id, true, r.cwd, r.workspaceRoots()
	if params["sandbox"] == nil {
		if mode := defaultSandbox(r.config(ctx, map[string]any{}), r.cwd); mode != "" {
			params["sandbox"] = mode
		}
	}
	return r.call(ctx, method, params)
}

// config returns Codex's configuration; nothing if the policy refuses the request.
func (r *execRun) config(ctx context.Context, params map[string]any) rpc.Value {
	result, _ := r.client.Call(ctx, "config/read", params)
	return result.Get("config")
}

// defaultSandbox returns the sandbox of a thread without one; "" for that of a permissions profile.
func defaultSandbox(current rpc.Value, folder string) string {
	if current.Get("default_permissions").Kind() == rpc.String {
		return ""
	}
	if mode, ok := current.Get("sandbox_mode").Text(); ok {
		return mode
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	root, _ := repositoryOf(folder)
	for project, settings := range current.Get("projects").Members() {
		if (project == folder || project == root) && settings.Get("trust_level").Kind() == rpc.String {
			return "workspace-write" // for a project that the user has judged
		}
	}
	return "read-only"
}

// setProvider sets the provider and the model of --oss.
func (r *execRun) setProvider(params map[string]any) error {
	if !r.has("--oss") {
		return nil
	}
	model, ok := map[string]string{"ollama": "gpt-oss:20b", "lmstudio": "openai/gpt-oss-20b"}[r.flags["--local-provider"]]
	if !ok {
		return exit.UsageError("--oss: name the provider with --local-provider ollama or --local-provider lmstudio")
	}
	params["modelProvider"] = r.flags["--local-provider"]
	if params["model"] == nil {
		params["model"] = model
	}
	return nil
}

var threadID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$`)
})

// session returns the id of the session to resume or fork; "" for none.
func (r *execRun) session(ctx context.Context) (string, error) {
	list := map[string]any{
		"limit": 100, "sortKey": "updated_at", "archived": false,
		"sourceKinds": []string{
			"cli", "vscode", "exec", "appServer", "subAgent", "subAgentReview", "subAgentCompact", "subAgentThreadSpawn", "subAgentOther", "unknown",
		},
	}
	name := ""
	if !r.has("--last") {
		if len(r.words) == 0 {
			return "", nil
		}
		if name = r.words[0]; threadID().MatchString(name) {
			return name, nil
		}
		list["searchTerm"], list["modelProviders"] = name, []string{}
	}
	for {
		page, err := r.call(ctx, "thread/list", list)
		if err != nil {
			return "", err
		}
		for thread := range page.Get("data").Elements() {
			folder, _ := thread.Get("cwd").Text()
			if (name == "" || thread.Get("name").Is(name)) && (r.has("--all") || r.sub == "fork" || sameFolder(folder, r.cwd)) {
				id, _ := thread.Get("id").Text()
				return id, nil
			}
		}
		next, ok := page.Get("nextCursor").Text()
		if !ok {
			return "", nil
		}
		list["cursor"] = next
	}
}

func sameFolder(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return a == b
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
