package doctor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/relay/inject"
	"codex-bridge.example/rpc"
)

// examineHooks reports whether Codex runs the hooks of threads. The machine's requirements
// can drop them silently (measured).
//
// result is the response to configRequirements/read.
func examineHooks(ctx context.Context, cfg *config.Config, result json.RawMessage, err error, trial string) finding {
	var answer struct {
		Requirements struct {
			AllowManagedHooksOnly bool
			FeatureRequirements   map[string]bool
		}
	}
	if err == nil {
		err = json.Unmarshal(result, &answer)
	}
	state := Warn
	if cfg.Policy.Mode == config.Enforce {
		state = Broken // no thread is opened
	}
	switch {
	case err != nil:
		return finding{"hooks", Warn, fmt.Sprintf("codex's requirements can't be read: %v", err), `see "codex app-server"`}
	case answer.Requirements.AllowManagedHooksOnly:
		return finding{"hooks", state, "the machine's requirements let codex run managed hooks only; codex silently drops the hooks of threads",
			"remove allow_managed_hooks_only from requirements.toml, if you manage the machine"}
	}
	for _, name := range []string{"hooks", "codex_hooks"} {
		if on, is := answer.Requirements.FeatureRequirements[name]; is && !on {
			return finding{"hooks", state, "the machine's requirements disable codex's hooks", "remove features." + name + " from requirements.toml, if you manage the machine"}
		}
	}
	if !cfg.Hooks.On {
		return finding{"hooks", Fine, "off: the policy does not enforce, and there is no [hooks] section", ""}
	}
	if slices.ContainsFunc(examineExposed(cfg), func(f finding) bool { return f.State == Broken }) {
		return finding{"hooks", Warn, "not tested, since no bridge starts", `first fix what is broken in "protection"`}
	}
	return examineHookRun(ctx, cfg, trial)
}

// askHooks returns the hooks that Codex lists for the folder in which doctor was started.
func askHooks(ctx context.Context, cfg *config.Config, path string) (json.RawMessage, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	params, err := json.Marshal(map[string]any{"cwds": []string{folder}})
	if err != nil {
		return nil, err
	}
	return askServer(ctx, cfg, path, "hooks/list", string(params))
}

// examineOtherHooks names the hooks that may replace the input of tool calls beside the bridge's, with what
// that means under an enforced policy. result is the response to hooks/list.
func examineOtherHooks(result json.RawMessage, err error) []finding {
	const name = "codex hooks"
	var others []string
	if err == nil {
		var doc *rpc.Doc
		if doc, err = rpc.ParseValue(result); err == nil {
			others, err = inject.Replacing(doc.Root(), "")
		}
	}
	switch {
	case err != nil:
		return []finding{{name, Warn, fmt.Sprintf("codex's hooks can't be listed: %v", err), `see "codex app-server"`}}
	case len(others) == 0:
		return []finding{{name, Fine, "no hook but the bridge's may replace the input of a tool call", ""}}
	}
	return []finding{{name, Warn, strings.Join(others, "; ") + ": may replace the input of a call after the bridge has judged it. " +
		"The bridge denies calls about which it would ask, and all commands if a rule of yours for Codex lets one out of the sandbox; " +
		"it interrupts a turn whose command or patch was replaced", toolcall.OtherHookHint}}
}

// askServer starts an app-server for one request and returns the result. params is JSON; "" for none.
func askServer(ctx context.Context, cfg *config.Config, path, method, params string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	args := append(append([]string{}, cfg.Codex.Args...), "app-server")
	if err := codex.CheckArgs(path, args); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = codex.Environ(os.Environ(), cfg.Codex.Env, cfg.Codex.EnvRemove)
	cmd.WaitDelay = time.Second // for processes of a wrapper that still hold the pipe
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := child.Start(cmd); err != nil {
		return nil, err
	}
	result, err := converse(in, out, method, params)
	_ = in.Close()      // makes Codex exit
	_ = child.Wait(cmd) // the exit status does not matter after the response
	return result, err
}

func converse(in io.Writer, out io.Reader, method, params string) (json.RawMessage, error) {
	if params != "" {
		params = `,"params":` + params
	}
	lines := []string{
		`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"codex-bridge-doctor","version":"` + buildinfo.Version + `"},"capabilities":{"experimentalApi":true}}}`,
		`{"method":"initialized"}`,
		`{"id":2,"method":"` + method + `"` + params + `}`,
	}
	if _, err := io.WriteString(in, strings.Join(lines, "\n")+"\n"); err != nil {
		return nil, err
	}
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var m struct {
			ID     json.Number
			Method string
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		switch err := json.Unmarshal(scanner.Bytes(), &m); {
		case err != nil || m.Method != "" || m.ID != "2":
		case m.Error != nil:
			return nil, errors.New(m.Error.Message)
		default:
			return m.Result, nil
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, err
	}
	return nil, errors.New("codex ended without a response")
}
