//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
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
	alone, err := b.hookOnly()
	if err != nil {
		return err
	}
	ways := []func() (float64, error){
		func() (float64, error) { return b.hook(b.proxy, socket, "Bash", "") },
		func() (float64, error) { return b.asHook("Bash", "", "true") },
		func() (float64, error) { return b.hook(alone, socket, "Bash", "") },
		func() (float64, error) { return b.asHook("Bash", "", alone) }, // does nothing
	}
	if err := b.oneByOne(n, ways); err != nil {
		return err
	}
	var refused []float64
	for range oneByOneTimes {
		if err := another(&refused, func() (float64, error) { return b.hook(b.proxy, socket, denied, `"deny"`) }); err != nil {
			return err
		}
	}
	b.table.Add(table.Row{Key: "hook/denied", Title: oneHookTitle, What: "the call is denied", Unit: "ms", Goal: table.AtMost(10)}, table.Median(refused))
	return b.atOnce(n, ways)
}

const (
	oneByOneTimes = 9
	oneHookTitle  = "one hook, from the start of its process to its end"
)

func (b *bench) oneByOne(n int, ways []func() (float64, error)) error {
	took := make([][]float64, len(ways))
	for i := range oneByOneTimes {
		for next := range ways {
			way := (n + i + next) % len(ways)
			if err := another(&took[way], ways[way]); err != nil {
				return err
			}
		}
	}
	one, base, alone, empty := table.Median(took[0]), table.Median(took[1]), table.Median(took[2]), table.Median(took[3])
	b.table.Add(table.Row{Key: "hook/ratio", Title: oneHookTitle, What: "against `true`", Unit: "×", Goal: table.AtMost(2.5)}, one/base)
	b.table.Add(table.Row{Key: "hook/time", Title: oneHookTitle, What: "the call passes", Unit: "ms", Goal: table.AtMost(10), Note: "`true` %.1f ms"}, one, base)
	b.table.Add(table.Row{Key: "hook/only", Title: oneHookTitle, What: onlyHook + ", against `true`", Unit: "×", Note: "%.1f ms"}, alone/base, alone)
	b.table.Add(table.Row{Key: "hook/empty", Title: oneHookTitle, What: emptyGo + ", against `true`", Unit: "×", Note: "%.1f ms"}, empty/base, empty)
	return nil
}

func (b *bench) atOnce(n int, ways []func() (float64, error)) error {
	took := make([][]float64, len(ways))
	for next := range ways {
		way := (n + next) % len(ways)
		if err := runAtOnce(&took[way], ways[way]); err != nil {
			return err
		}
	}
	p99 := func(way int) float64 { return table.Quantile(took[way], 0.99) }
	title := fmt.Sprintf("%d hooks at once", atOnce)
	b.table.Add(table.Row{Key: "hook/many/p50", Title: title, What: "p50", Unit: "ms", Note: "`true` %.1f ms"}, table.Median(took[0]), table.Median(took[1]))
	b.table.Add(table.Row{Key: "hook/many/p99", Title: title, What: "p99", Unit: "ms", Goal: table.AtMost(50), Note: "`true` %.1f ms"}, p99(0), p99(1))
	b.table.Add(table.Row{Key: "hook/many/ratio", Title: title, What: "p99 against `true`", Unit: "×", Goal: table.AtMost(4)}, p99(0)/p99(1))
	b.table.Add(table.Row{Key: "hook/many/only", Title: title, What: onlyHook + ", p99", Unit: "ms", Note: "%.1f× of `true`"}, p99(2), p99(2)/p99(1))
	b.table.Add(table.Row{Key: "hook/many/empty", Title: title, What: emptyGo + ", p99", Unit: "ms", Note: "%.1f× of `true`"}, p99(3), p99(3)/p99(1))
	return nil
}

const (
	onlyHook = "a program with the hook alone"
	emptyGo  = "the same program without a call"
)

// hookOnly returns the program of the package hookonly.
func (b *bench) hookOnly() (string, error) {
	program := filepath.Join(b.dir, "hookonly")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	return program, build(b.root, program, "./cmd/bridge-bench/hookonly")
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

// hook returns the time of one hook process of a program, in ms.
func (b *bench) hook(program, socket, tool, want string) (float64, error) {
	return b.asHook(tool, want, program, "hook", "--socket", socket, "--event", string(hook.PreToolUse), "--timeout", "1m")
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
