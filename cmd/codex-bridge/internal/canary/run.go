package canary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/cmd/internal/scripted"
)

// Options name the programs.
type Options struct {
	Bridge string   // this program
	Codex  string   // the Codex to try
	Args   []string // of the Codex, before all others
	Env    []string
}

// Result is the outcome of a row.
type Result struct {
	Row
	Err  error // nil: it works
	Took time.Duration
}

const (
	// rowTime bounds a row. Measured: one to two seconds on two idle cores.
	rowTime = time.Minute
	// together is how many rows run at a time.
	together = 2
)

// Run runs all rows through the bridge under Policy, each in new folders, and returns their results in the order of
// Rows. It removes the folders, also those of earlier runs that were killed, and no process of it runs when it returns. If ctx ends, it returns the cause.
func Run(ctx context.Context, o Options) (results []Result, err error) {
	folder, err := scripted.MarkedFolder("codex-bridge-check-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	results = make([]Result, len(Rows))
	var running sync.WaitGroup
	slots := make(chan struct{}, together)
	for i, row := range Rows {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			start := time.Now()
			err := o.run(ctx, row, filepath.Join(folder, strconv.Itoa(i)))
			results[i] = Result{row, err, time.Since(start)}
		})
	}
	running.Wait()
	return results, context.Cause(ctx)
}

func (o Options) run(ctx context.Context, row Row, folder string) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, rowTime, fmt.Errorf("not done within %s", rowTime))
	defer cancel()
	model, err := scripted.Start(nil)
	if err != nil {
		return fmt.Errorf("the scripted model can't listen on 127.0.0.1: %w", err)
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	place, err := o.build(folder, model)
	if err != nil {
		return err
	}
	err = row.Play(ctx, place)
	if err != nil && errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// build makes the folders of a row.
func (o Options) build(folder string, model *scripted.Server) (Place, error) {
	home, user, conf := filepath.Join(folder, "codex"), filepath.Join(folder, "user"), filepath.Join(folder, "config.toml")
	p := Place{Workspace: filepath.Join(folder, "project"), State: filepath.Join(folder, "state"), Model: model}
	git := filepath.Join(p.Workspace, ".git")
	for _, one := range []string{user, p.State, filepath.Join(git, "objects"), filepath.Join(git, "refs", "heads")} {
		if err := os.MkdirAll(one, 0o700); err != nil {
			return p, err
		}
	}
	env, err := scripted.Env(home)
	args, encodeErr := json.Marshal(append([]string{}, o.Args...)) // also an array of TOML
	policy := fmt.Sprintf("[codex]\nargs = %s\n%s", args, Policy)
	err = errors.Join(err, encodeErr, scripted.Home(home, model.URL(), ""), os.WriteFile(conf, []byte(policy), 0o600),
		os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
	env = slices.Concat(codex.WithoutCodex(o.Env), env, []string{
		"CODEX_BRIDGE_CONFIG=" + conf, "CODEX_BRIDGE_CODEX=" + o.Codex, "CODEX_BRIDGE_STATE=" + p.State,
		"HOME=" + user, // ignore the start-up files of a login shell
		"OTEL_SDK_DISABLED=true",
	})
	p.Start = func(eo editor.Options) (*editor.Editor, error) {
		eo.Argv, eo.Env, eo.Dir = []string{o.Bridge, "app-server"}, env, p.Workspace
		return editor.Start(eo)
	}
	return p, err
}
