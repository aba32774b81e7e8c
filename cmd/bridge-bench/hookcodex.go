//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

const (
	oneByOne   = "one by one"
	allAtOnce  = "all at once"
	commands   = 15 // one after the other
	hookSource = "/<session-flags>/config.toml"
)

// hooksOfCodex measures the hook before a command by the clock of the real Codex, in whole
// milliseconds: for a model that runs commands one after the other, and for one that runs many at
// once.
func (b *bench) hooksOfCodex(int) (err error) {
	codex := filepath.Join(b.root, realCodex)
	if _, err := os.Stat(codex); err != nil {
		return nil // without these rows
	}
	script := scripted.Script{{When: oneByOne, Reply: scripted.Reply{scripted.Run("true")}}}
	for range commands - 1 {
		script = append(script, scripted.Step{When: "code 0", Reply: scripted.Reply{scripted.Run("true")}})
	}
	script = append(script, scripted.Step{When: "code 0", Reply: scripted.Reply{scripted.Text("Done.")}})
	var many scripted.Reply
	for range atOnce {
		many = append(many, scripted.Run("true"))
	}
	model, err := scripted.Start(append(script, scripted.Step{When: allAtOnce, Reply: many}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()

	dir, err := os.MkdirTemp(b.dir, "hooked-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	home, config := filepath.Join(dir, "codex"), filepath.Join(dir, "config.toml")
	if err := scripted.Home(home, model.URL(), ""); err != nil {
		return err
	}
	env, err := scripted.Env(home)
	if err != nil {
		return err
	}
	if err := os.WriteFile(config, []byte("[hooks]\nevents = [\"pre_tool_use\"]\n"), 0o600); err != nil {
		return err
	}
	env = append(append(b.env(idleLoad), env...), "CODEX_BRIDGE_CODEX="+codex, "CODEX_BRIDGE_CONFIG="+config, "CODEX_BRIDGE_STATE="+filepath.Join(dir, "state"))
	e, err := editor.Start(editor.Options{Argv: []string{b.proxy, "app-server"}, Env: env, Dir: dir})
	if err != nil {
		return err
	}
	defer e.Close(10 * time.Second)
	one, together, err := hookRuns(e, dir)
	if err != nil {
		return fmt.Errorf("%w; stderr of codex-bridge: %s", err, e.Stderr())
	}
	b.table.Add(table.Row{Key: "hook-codex/one", Title: "one hook, as the real codex measures it", What: "p50 of 15, one by one", Unit: "ms", Goal: table.AtMost(10),
		Note: "Codex reports whole ms"}, table.Median(one))
	b.table.Add(table.Row{Key: "hook-codex/many", Title: "one hook, as the real codex measures it", What: "p99 of 40 at once", Unit: "ms", Goal: table.AtMost(50),
		Note: "p50 %.1f ms"}, table.Quantile(together, 0.99), table.Median(together))
	return nil
}

// hookRuns returns the times of the hooks of two turns, in ms.
func hookRuns(e *editor.Editor, folder string) (one, together []float64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if _, err := e.Initialize(ctx, nil); err != nil {
		return nil, nil, err
	}
	said, failed := e.Call(ctx, "thread/start", map[string]any{"cwd": folder, "approvalPolicy": "never", "sandbox": "danger-full-access"})
	if failed != nil {
		return nil, nil, failed
	}
	id := editor.Member(said, "thread", "id")
	if one, err = hooksOfTurn(ctx, e, id, oneByOne, commands); err != nil {
		return nil, nil, err
	}
	together, err = hooksOfTurn(ctx, e, id, allAtOnce, atOnce)
	return one, together, err
}

// hooksOfTurn returns the times of the bridge's hooks in a turn, and checks their number.
func hooksOfTurn(ctx context.Context, e *editor.Editor, id, prompt string, want int) (times []float64, err error) {
	mark := e.Mark()
	input := []any{map[string]any{"type": "text", "text": prompt, "text_elements": json.RawMessage("[]")}}
	if _, err := e.Call(ctx, "turn/start", map[string]any{"threadId": id, "input": input}); err != nil {
		return nil, err
	}
	done, err := e.WaitFor(ctx, mark, "turn/completed")
	if err != nil {
		return nil, err
	}
	for _, m := range e.Messages()[mark:done.Index] {
		if m.Method != "hook/completed" || m.Param("run", "sourcePath") != hookSource {
			continue
		}
		took, err := strconv.ParseFloat(m.Param("run", "durationMs"), 64)
		if err != nil || m.Param("run", "status") != "completed" {
			return nil, fmt.Errorf("a hook ended with: %s", m.Raw)
		}
		times = append(times, took)
	}
	if len(times) != want {
		return nil, fmt.Errorf("%s: Codex ran %d hooks, want %d", prompt, len(times), want)
	}
	return times, nil
}
