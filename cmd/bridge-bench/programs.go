//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

const (
	supervised     = "[policy]\nmode = \"enforce\"\nsandbox = \"workspace-write\"\napproval = [\"never\"]\nexec_rules = \"on\"\n" + oneRule
	unsupervised   = "[policy]\nmode = \"enforce\"\nsandbox = \"workspace-write\"\napproval = [\"never\"]\nexec_rules = \"off\"\n" + oneRule
	oneRule        = "[[policy.rule]]\ncommand = \"shutdown **\"\ndecision = \"deny\"\n"
	startsOfTurn   = 500
	turnsOfStarts  = 4
	partsOfBuild   = 4
	startsOfMemory = 10_000
)

// inCommands returns a measurement of program starts in commands of the real Codex: alone, and below the bridge with
// a rule that is applied to each of them.
func inCommands(name string, measure func(b *bench, n int, alone, ours *commander) error) measurement {
	return measurement{name: name, round: func(b *bench, n int) (err error) {
		codex := filepath.Join(b.root, realCodex)
		if _, err := os.Stat(codex); err != nil {
			return nil // without these rows
		}
		model, err := scripted.Start(nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, model.Close()) }()
		alone, err := b.startCommander("alone", model.URL(), codex)
		if err != nil {
			return err
		}
		defer alone.close()
		ours, err := b.startCommander("ours", model.URL(), b.proxy)
		if err != nil {
			return err
		}
		defer ours.close()
		return measure(b, n, alone, ours)
	}}
}

// startsInCommands adds the rows of single starts and, once, of the memory after many.
func (b *bench) startsInCommands(n int, alone, ours *commander) error {
	var took, base, processor []float64
	for i := range turnsOfStarts {
		start := func() error {
			return another(&processor, func() (float64, error) { return perStart(ours, &took) })
		}
		if err := alternate(n+i, start, func() error { return alone.starts(startsOfTurn, &base) }); err != nil {
			return err
		}
	}
	direct, floor, err := b.floorOfStarts(n)
	if err != nil {
		return err
	}
	const title = "a program start in a command"
	add := func(key, what string, goal table.Goal, q float64, took, base []float64) {
		b.table.Add(table.Row{Key: "programs/start/" + key, Title: title, What: what, Unit: "µs", Goal: goal, Note: "%.0f µs without the bridge"},
			table.Quantile(took, q)-table.Quantile(base, q), table.Quantile(base, q))
	}
	add("p50", "added, p50", table.AtMost(150), 0.5, took, base)
	add("p99", "added, p99", table.Goal{}, 0.99, took, base)
	b.table.Add(table.Row{Key: "programs/start/cpu", Title: title, What: "processor time of the bridge", Unit: "µs", Note: "with that for the turn of the command"}, table.Median(processor))
	add("floor", "a supervisor that reads nothing: added, p50", table.Goal{}, 0.5, floor, direct)
	add("floor/p99", "a supervisor that reads nothing: added, p99", table.Goal{}, 0.99, floor, direct)
	if n > 0 {
		return nil
	}
	return b.memoryOfStarts(ours)
}

// perStart starts programs in a command, adds their times, and returns the processor time of the bridge for each, in µs.
func perStart(ours *commander, took *[]float64) (float64, error) {
	pid := ours.editor.Process.Pid
	before, err := cpuTime(pid)
	if err != nil {
		return 0, err
	}
	if err := ours.starts(startsOfTurn, took); err != nil {
		return 0, err
	}
	after, err := cpuTime(pid)
	return float64(after-before) / startsOfTurn / float64(time.Microsecond), err
}

// buildInCommands adds the row of a build. Its parts alternate between both sides.
func (b *bench) buildInCommands(n int, alone, ours *commander) error {
	var took, base []float64
	for i := range partsOfBuild {
		err := alternate(n+i, func() error { return ours.run(buildScript, &took) }, func() error { return alone.run(buildScript, &base) })
		if err != nil {
			return err
		}
	}
	b.table.Add(table.Row{Key: "programs/build", Title: "a build of 2,000 processes", What: "time", Unit: "×", Goal: table.AtMost(1.03), Note: "%.2f ms a process without the bridge"},
		sum(took)/sum(base), sum(base)/2000)
	return nil
}

func sum(all []float64) (total float64) {
	for _, one := range all {
		total += one
	}
	return total
}

// startOfSupervisor adds the row of the bridge's start with and without a supervisor, which is a process before Codex.
func (b *bench) startOfSupervisor(n int) error {
	codex := filepath.Join(b.root, realCodex)
	if _, err := os.Stat(codex); err != nil {
		return nil //nolint:nilerr // without this row
	}
	var took, base []float64
	for i := range 5 {
		start := func(name, text string, all *[]float64) error {
			file := filepath.Join(b.dir, name+".toml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				return err
			}
			return another(all, func() (float64, error) {
				return b.startOnce(b.proxy, append(b.env(idleLoad), "CODEX_BRIDGE_CONFIG="+file), name, codex)
			})
		}
		err := alternate(n+i, func() error { return start("supervised", supervised, &took) }, func() error { return start("unsupervised", unsupervised, &base) })
		if err != nil {
			return err
		}
	}
	b.table.Add(table.Row{Key: "programs/first", Title: "start to the first byte forwarded, with program starts supervised", What: "added", Unit: "ms", Note: "%.1f ms with lines alone"},
		table.Median(took)-table.Median(base), table.Median(base))
	return nil
}

// memoryOfStarts adds the row of the memory after many starts.
func (b *bench) memoryOfStarts(ours *commander) error {
	before, err := memory(ours.editor.Process.Pid, "VmRSS:")
	if err != nil {
		return err
	}
	var took []float64
	for range startsOfMemory / startsOfTurn {
		if err := ours.starts(startsOfTurn, &took); err != nil {
			return err
		}
	}
	after, err := memory(ours.editor.Process.Pid, "VmRSS:")
	if err != nil {
		return err
	}
	b.table.Add(table.Row{Key: "programs/start/memory", Title: "a program start in a command", What: "resident memory after 10,000 more", Unit: "MiB", Note: "%.1f MiB before"}, mib(after), mib(before))
	return nil
}

// commander is a thread of the real Codex that runs commands.
type commander struct {
	editor    *editor.Editor
	self, dir string
	thread    string
}

// startCommander starts Codex or the bridge, with a home of its own.
func (b *bench) startCommander(name, url, program string) (_ *commander, err error) {
	dir, err := os.MkdirTemp(b.dir, name+"-")
	if err != nil {
		return nil, err
	}
	c := &commander{self: b.self, dir: filepath.Join(dir, "workspace")}
	home, config := filepath.Join(dir, "codex"), filepath.Join(dir, "config.toml")
	if err := scripted.Home(home, url, ""); err != nil {
		return nil, err
	}
	env, err := scripted.Env(home)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Mkdir(c.dir, 0o700), os.WriteFile(config, []byte(supervised), 0o600)); err != nil {
		return nil, err
	}
	env = append(append(b.env(idleLoad), env...), "CODEX_BRIDGE_CODEX="+filepath.Join(b.root, realCodex), "CODEX_BRIDGE_CONFIG="+config, "CODEX_BRIDGE_STATE="+filepath.Join(dir, "state"))
	env = withoutLoad(env)
	if c.editor, err = editor.Start(editor.Options{Argv: []string{program, "app-server"}, Env: env, Dir: c.dir}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w; stderr of %s: %s", err, name, c.editor.Stderr())
			c.close()
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if _, err := c.editor.Initialize(ctx, nil); err != nil {
		return nil, err
	}
	opened, failed := c.editor.Call(ctx, "thread/start", map[string]any{"cwd": c.dir, "approvalPolicy": "never", "sandbox": "workspace-write"})
	if failed != nil {
		return nil, failed
	}
	c.thread = editor.Member(opened, "thread", "id")
	return c, writeBuild(c.dir)
}

// withoutLoad removes the variable that makes this program a stand-in for Codex.
func withoutLoad(env []string) []string {
	var kept []string
	for _, variable := range env {
		if !strings.HasPrefix(variable, envLoad+"=") {
			kept = append(kept, variable)
		}
	}
	return kept
}

func (c *commander) close() { c.editor.Close(10 * time.Second) }

// starts starts a program some times in a command, and adds the time of each, in µs.
func (c *commander) starts(times int, all *[]float64) error {
	return c.run(fmt.Sprint(times), all)
}

// run runs this program with a work in a command, and adds what it measured.
func (c *commander) run(work string, all *[]float64) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	file := filepath.Join(c.dir, "measured")
	line := fmt.Sprintf("RUN: %s=%s %s %s", envStarter, work, c.self, file)
	mark := c.editor.Mark()
	input := []any{map[string]any{"type": "text", "text": line, "text_elements": json.RawMessage("[]")}}
	if _, err := c.editor.Call(ctx, "turn/start", map[string]any{"threadId": c.thread, "input": input}); err != nil {
		return err
	}
	if _, err := c.editor.WaitFor(ctx, mark, "turn/completed"); err != nil {
		return err
	}
	for { // the command may take longer than the turn
		raw, err := os.ReadFile(file)
		if err == nil {
			var took []float64
			if err := errors.Join(json.Unmarshal(raw, &took), os.Remove(file)); err != nil {
				return err
			}
			*all = append(*all, took...)
			return nil
		}
		select {
		case <-ctx.Done():
			messages := c.editor.Messages()[mark:]
			return fmt.Errorf("the command %q measured nothing; the last message: %s; stderr: %s", line, messages[len(messages)-1].Raw, c.editor.Stderr())
		case <-time.After(10 * time.Millisecond):
		}
	}
}
