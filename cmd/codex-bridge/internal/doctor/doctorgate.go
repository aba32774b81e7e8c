package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
	"codex-bridge.example/cmd/internal/settings"
)

// fireHook makes the real Codex run a hook of the bridge. It plays a conversation through
// this program with the user's configuration, these policy files of the workspace, a
// scripted model and a CODEX_HOME of its own. trial, if not "", is the managed file to try, before the user's. It
// returns the status of the hook run and its duration in milliseconds, as Codex reports them.
func fireHook(ctx context.Context, policyFiles []string, trial string) (status, took string, err error) {
	folder, remove, err := store.MakeScratch()
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, remove()) }()
	model, err := scripted.Start(nil)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	home, project := filepath.Join(folder, "codex"), filepath.Join(folder, "project")
	if err := errors.Join(os.Mkdir(project, 0o700), scripted.Home(home, model.URL(), "")); err != nil {
		return "", "", err
	}
	for _, file := range policyFiles { // each file in a subfolder of the previous one, so that all are effective
		text, err := os.ReadFile(file)
		if err != nil {
			return "", "", err
		}
		if err := os.WriteFile(filepath.Join(project, config.WorkspaceFile), text, 0o600); err != nil {
			return "", "", err
		}
		project = filepath.Join(project, "inner")
		if err := os.Mkdir(project, 0o700); err != nil {
			return "", "", err
		}
	}
	env, err := scripted.Env(home)
	if err != nil {
		return "", "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", "", err
	}
	env = append(append(os.Environ(), env...), statefolder.Env+"="+filepath.Join(folder, "state"), settings.OwnCodexEnv+"="+configured.TrialCodex, "OTEL_SDK_DISABLED=true")
	if trial != "" {
		env = append(env, configured.TrialManagedEnv+"="+trial)
	}
	e, err := editor.Start(editor.Options{Argv: []string{self, "app-server"}, Env: env, Dir: project, Answer: decline})
	if err != nil {
		return "", "", err
	}
	defer e.Close(time.Second)
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return waitForHookRun(ctx, e, project)
}

// waitForHookRun makes the model call a tool and waits until Codex reports the hook run.
func waitForHookRun(ctx context.Context, e *editor.Editor, project string) (status, took string, err error) {
	if _, failed := e.Initialize(ctx, nil); failed != nil {
		return "", "", failed
	}
	opened, failed := e.Call(ctx, "thread/start", map[string]any{"cwd": project})
	if failed != nil {
		return "", "", failed
	}
	mark := e.Mark()
	if _, failed := e.Call(ctx, "turn/start", map[string]any{
		"threadId": editor.Member(opened, "thread", "id"),
		"input":    []map[string]any{{"type": "text", "text": "RUN: true"}},
	}); failed != nil {
		return "", "", failed
	}
	m, err := e.Wait(ctx, mark, func(m editor.Message) bool {
		ours := m.Method == "hook/completed" && editor.Member(m.Params, "run", "statusMessage") == core.HookStatus
		return !m.Sent && (ours || m.Method == "turn/completed")
	})
	switch {
	case err != nil:
		return "", "", err
	case m.Method == "turn/completed":
		return "", "", errors.New("codex ran a command without a hook")
	}
	return editor.Member(m.Params, "run", "status"), editor.Member(m.Params, "run", "durationMs"), nil
}

// decline declines Codex's approval requests.
func decline(context.Context, editor.Message) (any, *editor.Error) {
	return map[string]string{"decision": "decline"}, nil
}

// examineHookRun reports whether Codex runs the hooks of the bridge.
func examineHookRun(ctx context.Context, cfg *config.Config, trial string) finding {
	policyFiles := slices.DeleteFunc(cfg.Files(), func(file string) bool { return filepath.Base(file) != config.WorkspaceFile })
	status, took, err := fireHook(ctx, policyFiles, trial)
	switch {
	case err != nil:
		return finding{"hooks", Broken, fmt.Sprintf("the test of a hook failed: %v", err), `see the stderr of "codex-bridge app-server" with CODEX_BRIDGE_LOG=info`}
	case status != "completed" && status != "blocked":
		return finding{"hooks", Broken, "codex ran a hook of the bridge, and it " + status, "see the stderr of \"codex-bridge app-server\""}
	}
	return finding{"hooks", Fine, "codex asks the bridge before it runs a tool: a hook was fired and answered in " + took + " ms", ""}
}
