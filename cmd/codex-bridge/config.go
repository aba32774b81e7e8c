package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/hook"
)

// loadConfig reads the configuration for the working folder.
func loadConfig() (*config.Config, error) { return config.Load(configFiles()) }

func configFiles() config.Options { return config.Discover(workspaceFolder()) }

// warnAbout logs what in the configuration has no effect, and each error of a workspace file that does not
// load.
func warnAbout(cfg *config.Config, log *slog.Logger) {
	for _, w := range cfg.Warnings() {
		log.Warn("in the configuration", "warning", w)
	}
	effect := "the bridge starts without it"
	if cfg.Policy.Mode == config.Enforce {
		effect = "no thread is opened in its folder until it loads"
	}
	for _, fault := range config.Errors(cfg.WorkspaceError()) {
		log.Warn("the policy file of the workspace does not load", "error", fault, "effect", effect)
	}
}

// workspaceFolder returns the working folder, or "" if it was removed.
func workspaceFolder() string {
	start, err := os.Getwd()
	if err != nil {
		return ""
	}
	return start
}

// errUnenforced is the error for a restriction that this version does not act on. The bridge
// refuses it, because the user would rely on it.
var errUnenforced = errors.New("the configuration asks for more than this version can enforce")

// newGuard returns the policy of a conversation.
func newGuard(cfg *config.Config, recorder guard.Recorder, log *slog.Logger) (*guard.Guard, error) {
	p, err := newPolicy(cfg, log)
	if err != nil {
		return nil, err
	}
	world := guard.WorldOf(cfg.Codex)
	world.Sensitive = append(world.Sensitive, cfg.Serve.Places()...)
	guard.AddPrograms(&world, configuredPrograms(cfg)...)
	if err := exposed(cfg, p, world); err != nil {
		return nil, err
	}
	folder, err := socketFolder(world)
	at := ""
	if err == nil {
		at, err = world.Paths.Canonical(folder)
	}
	switch {
	case err == nil:
		world.Sensitive, world.Hidden = append(world.Sensitive, at), []string{at}
		if token := cfg.Serve.TokenFile; token != "" {
			world.Hidden = append(world.Hidden, token)
		}
	case p.Mode() == config.Enforce:
		return nil, fmt.Errorf("the folder of the hooks' socket %s can't be protected: %w; name another state folder with %s", folder, err, store.EnvFolder)
	}
	g := guard.New(p, world, recorder, log)
	g.SetFolderPolicies(folderPolicies(cfg.WorkspaceError() != nil, log))
	g.SetGitEnv(codex.Environ(os.Environ(), cfg.Codex.Env, cfg.Codex.EnvRemove))
	return g, nil
}

// configuredPrograms returns the files that commands of the configuration name with absolute
// paths. These programs and scripts run outside the sandbox.
func configuredPrograms(cfg *config.Config) (files []string) {
	add := func(command []string) {
		for _, word := range command {
			if info, err := os.Stat(word); filepath.IsAbs(word) && err == nil && info.Mode().IsRegular() {
				files = append(files, word)
			}
		}
	}
	for _, handler := range cfg.Hooks.Handlers {
		add(handler.Command)
	}
	for _, tool := range cfg.Tools {
		add(tool.Command)
	}
	for _, server := range cfg.ToolServers {
		add(server.Command)
	}
	for _, agent := range cfg.ACP.Agents {
		add(agent.Command)
	}
	return files
}

// exposed returns an error if sandboxed commands could change a file that the enforced policy
// depends on, or redirect one of its writable roots. It also fails if Codex would load
// environment variables that the policy does not see.
func exposed(cfg *config.Config, p *policy.Policy, world policy.State) error {
	var errs []error
	for _, one := range p.LinkedRoots(world) {
		errs = append(errs, one)
	}
	for _, one := range p.CheckSensitivePaths(guard.Governing(cfg, world), world.Temps) {
		errs = append(errs, one)
	}
	if p.Mode() == config.Enforce {
		for _, one := range guard.CheckEnvFile(world) {
			errs = append(errs, one)
		}
		if one := guard.CheckExecServer(cfg.Codex); one != nil {
			errs = append(errs, one)
		}
	}
	return errors.Join(errs...)
}

// socketFolder returns the folder of the hooks' sockets.
func socketFolder(world policy.State) (string, error) {
	state, err := store.Folder()
	if err != nil {
		return "", err
	}
	return hook.DefaultFolder(state, func(folder string) bool {
		at, err := world.Paths.Canonical(folder)
		return err != nil || world.OverlapsTemp(at)
	}), nil
}

// folderPolicies returns a function that loads the policy of another folder. It returns nil for
// a folder whose policy files the bridge loaded at its start, unless invalid is true.
func folderPolicies(invalid bool, log *slog.Logger) func(folder string) (*policy.Policy, error) {
	started := workspaceFolder()
	return func(folder string) (*policy.Policy, error) {
		files := config.WorkspaceFiles(folder)
		if len(files) == 0 || !invalid && slices.Equal(files, config.WorkspaceFiles(started)) {
			return nil, nil
		}
		cfg, err := config.Load(config.Discover(folder))
		if err != nil {
			return nil, err
		}
		p, err := newPolicy(cfg, log)
		if err != nil {
			return nil, err
		}
		return p, exposed(cfg, p, guard.WorldOf(cfg.Codex))
	}
}

func newPolicy(cfg *config.Config, log *slog.Logger) (*policy.Policy, error) {
	var refused []error
	for _, n := range cfg.Unenforced() {
		if n.Restriction && cfg.Policy.Mode == config.Enforce {
			hint := "remove it"
			if n.Hint != "" {
				hint = n.Hint + "; or remove it"
			}
			refused = append(refused, fmt.Errorf("%s:%d: %s: %w; %s, or set policy.mode to audit",
				n.Origin.File, n.Origin.Line, n.Key, errUnenforced, hint))
			continue
		}
		log.Warn("this version does not act on the key yet", "key", n.Key, "file", n.Origin.File, "line", n.Origin.Line)
	}
	if err := errors.Join(refused...); err != nil {
		return nil, err
	}
	return policy.New(cfg.Policy, cfg.Place)
}

// watch makes a changed configuration effective for the next request. If it is not valid, the old one
// stays. reloaded is called after each change, with the error of one that is not valid.
func watch(ctx context.Context, files config.Options, cfg *config.Config, log *slog.Logger, reloaded func(error), setPolicy func(*policy.Policy), setConfig ...func(*config.Config)) {
	files.Loaded = cfg
	err := config.Watch(ctx, files, func(changed *config.Config, err error) {
		var p *policy.Policy
		if err == nil {
			p, err = newPolicy(changed, log)
		}
		if err == nil {
			err = exposed(changed, p, guard.WorldOf(changed.Codex))
		}
		if err != nil {
			log.Error("the changed configuration is not valid; the old policy stays", "error", err)
			reloaded(err)
			return
		}
		setPolicy(p)
		for _, set := range setConfig {
			set(changed)
		}
		log.Info("the changed configuration is effective", "mode", p.Mode())
		warnAbout(changed, log)
		reloaded(nil)
	})
	if err != nil && ctx.Err() == nil {
		log.Warn("the configuration is not watched for changes", "error", err)
	}
}
