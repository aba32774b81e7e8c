//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
	"codex-bridge.example/relay/hook"
)

// atOnce is the number of parallel calls, for which Codex starts hooks without a limit.
const atOnce = 40

// hooks measures the process that Codex starts before each tool call, from its start to its exit,
// against `true`. This process plays the bridge and decides at once.
func (b *bench) hooks(n int) error {
	s, err := hook.Listen(hook.Options{Folder: filepath.Join(b.dir, "hooks"), Decide: func(_ context.Context, c *hook.Call) hook.Answer {
		if c.ToolName == denied {
			return hook.Answer{Decision: hook.Deny, Reason: denied}
		}
		return hook.Answer{}
	}})
	if err != nil {
		return err
	}
	err = b.hooksOf(n, s.Socket())
	if failed := s.Close(); err == nil {
		err = failed
	}
	return err
}

// denied is a tool that the bridge denies.
const denied = "denied"

func (b *bench) hooksOf(n int, socket string) error {
	passes := func() (float64, error) { return b.hook(socket, "Bash", "") }
	denies := func() (float64, error) { return b.hook(socket, denied, `"deny"`) }
	nothing := func() (float64, error) { return b.asHook("Bash", "", "true") }
	const times = 9
	var ours, refusals, trues []float64
	for i := range times {
		err := alternate(n+i,
			func() error { return another(&ours, passes) },
			func() error { return another(&trues, nothing) })
		if err == nil {
			err = another(&refusals, denies)
		}
		if err != nil {
			return err
		}
	}
	one, refusal, base := table.Median(ours), table.Median(refusals), table.Median(trues)
	title := "one hook, from the start of its process to its end"
	b.table.Add(table.Row{Key: "hook/ratio", Title: title, What: "against `true`", Unit: "×", Goal: table.AtMost(2.5)}, one/base)
	b.table.Add(table.Row{Key: "hook/time", Title: title, What: "the call passes", Unit: "ms", Goal: table.AtMost(10), Note: "`true` %.1f ms"}, one, base)
	b.table.Add(table.Row{Key: "hook/denied", Title: title, What: "the call is denied", Unit: "ms", Goal: table.AtMost(10)}, refusal)

	var many, none []float64
	err := alternate(n,
		func() error { return runAtOnce(&many, passes) },
		func() error { return runAtOnce(&none, nothing) })
	if err != nil {
		return err
	}
	title = fmt.Sprintf("%d hooks at once", atOnce)
	b.table.Add(table.Row{Key: "hook/many/p50", Title: title, What: "p50", Unit: "ms", Note: "`true` %.1f ms"}, table.Median(many), table.Median(none))
	b.table.Add(table.Row{Key: "hook/many/p99", Title: title, What: "p99", Unit: "ms", Goal: table.AtMost(50), Note: "`true` %.1f ms"},
		table.Quantile(many, 0.99), table.Quantile(none, 0.99))
	return nil
}

func another(all *[]float64, run func() (float64, error)) error {
	took, err := run()
	*all = append(*all, took)
	return err
}

// runAtOnce adds the times of atOnce runs that start at once.
func runAtOnce(all *[]float64, run func() (float64, error)) error {
	took := make([]float64, atOnce)
	errs := make([]error, atOnce)
	var done sync.WaitGroup
	for i := range took {
		done.Go(func() { took[i], errs[i] = run() })
	}
	done.Wait()
	*all = append(*all, took...)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// hook returns the time of one hook process, in ms.
func (b *bench) hook(socket, tool, want string) (float64, error) {
	return b.asHook(tool, want, b.proxy, "hook", "--socket", socket, "--event", string(hook.PreToolUse), "--timeout", "1m")
}

// asHook starts a program as Codex starts a hook. Its output must contain want; an empty want means
// no output.
func (b *bench) asHook(tool, want, program string, args ...string) (float64, error) {
	payload, err := json.Marshal(map[string]any{
		"hook_event_name": hook.PreToolUse.Name(), "session_id": thread, "turn_id": "1", "cwd": workspace, "transcript_path": nil,
		"tool_name": tool, "tool_use_id": "call_1", "tool_input": map[string]string{"command": "go test ./..."},
	})
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Env = bytes.NewReader(payload), b.env(idleLoad)
	begin := time.Now()
	out, err := cmd.CombinedOutput()
	took := ms(time.Since(begin))
	if err == nil && (want == "" && len(out) > 0 || !strings.Contains(string(out), want)) {
		err = fmt.Errorf("%s printed %q", cmd, out)
	}
	return took, err
}
