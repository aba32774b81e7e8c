package settings

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/relay/hook"
)

// RequireWorkspace returns the errors of workspace files that do not load, if the policy is enforced: each
// could tighten it.
func RequireWorkspace(cfg *config.Config) error {
	if cfg.Policy.Mode != config.Enforce {
		return nil
	}
	return cfg.WorkspaceError()
}

// WorkspaceFaults returns a line for each error of a workspace file that does not load, with its fix and effect.
func WorkspaceFaults(cfg *config.Config) (lines []string) {
	for _, fault := range ErrorLines(cfg.WorkspaceError()) {
		lines = append(lines, fault+" ("+InvalidFileHint(cfg)+")")
	}
	return lines
}

// InvalidFileHint returns how to fix the configuration files that are not valid, and their effect until then.
func InvalidFileHint(cfg *config.Config) string {
	effect := "the bridge runs without it"
	switch {
	case !cfg.Skipped():
		effect = "its last valid content counts"
	case cfg.Policy.Mode == config.Enforce:
		effect = "no thread opens in its folder, and of Codex's commands only app-server, help and the version run there"
	}
	return "correct the file; until then " + effect
}

// StartFiles returns the files of files for a start or a reload. Then a workspace file also counts as invalid
// if the bridge can't enforce the policy with it.
func (s Setup) StartFiles(files config.Options) config.Options {
	files.Check = func(cfg *config.Config) error {
		if err := CheckPolicy(cfg); err != nil {
			return err
		}
		p, err := policy.New(cfg.Policy, cfg.Place)
		if err != nil || p.Mode() != config.Enforce {
			return err
		}
		return s.exposed(cfg, p, guard.WorldOf(cfg.Codex))
	}
	return files
}

// CheckPolicy returns an error for a policy that does not compile, such as one with a rule that never matches, and for
// a newer table that is not valid.
// It does so in all modes: another file may set the mode.
func CheckPolicy(cfg *config.Config) error {
	section := cfg.Policy
	section.Mode = config.Enforce
	_, err := policy.New(section, cfg.Place)
	return err
}

// WarnAbout logs what in the configuration has no effect, and each error of a file that is not valid.
func WarnAbout(cfg *config.Config, log *slog.Logger) {
	for _, w := range cfg.Warnings() {
		log.Warn("in the configuration", "warning", w)
	}
	for _, one := range LinkedRoots(cfg) {
		log.Warn("in the configuration", "warning", one)
	}
	if missing := cfg.Policy.Missing; missing != "" {
		log.Warn("no thread opens and no turn or agent begins", "reason", missing)
	}
	for _, fault := range ErrorLines(cfg.WorkspaceError()) {
		log.Warn("a configuration file is not valid", "error", fault, "hint", InvalidFileHint(cfg))
	}
}

// ErrorLines returns the lines of an error, one for each that it joins.
func ErrorLines(err error) []string {
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

// LinkedRoots returns the writable roots that allow nothing, since a link is in their path.
func LinkedRoots(cfg *config.Config) []*policy.LinkedRootError {
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil {
		return nil
	}
	return p.LinkedRoots(func() policy.State { return guard.WorldOf(cfg.Codex) })
}

// Workspace returns the working folder, or "" if it was removed.
func Workspace() string {
	start, err := os.Getwd()
	if err != nil {
		return ""
	}
	return start
}

// NewGuard returns the policy of a conversation. current returns the changed configuration; nil: it does not
// change.
func (s Setup) NewGuard(cfg *config.Config, current func() *config.Config, recorder guard.Recorder, log *slog.Logger) (*guard.Guard, error) {
	if current == nil {
		current = func() *config.Config { return cfg }
	}
	p, err := NewPolicy(cfg, log)
	if err != nil {
		return nil, err
	}
	world := NewWorld(cfg)
	if err := s.exposed(cfg, p, world); err != nil {
		return nil, err
	}
	if err := s.hideSocket(&world); err != nil && p.Mode() == config.Enforce {
		return nil, err
	}
	g := guard.New(p, world, recorder, log)
	find := func() (guard.ConfiguredFiles, error) { return s.configuredFiles(current(), world) }
	if err := g.SetConfiguredFiles(find); err != nil && p.Mode() == config.Enforce {
		return nil, err
	}
	g.SetFolderPolicies(s.FolderPolicies(Workspace(), cfg.Skipped, log))
	g.SetFolderDigest(config.WorkspaceDigest)
	g.SetGitEnv(codex.Environ(os.Environ(), cfg.Codex.Env, cfg.Codex.EnvRemove))
	return g, nil
}

// NewWorld returns what the policy of cfg protects on this machine, without the folder of the hooks' socket and
// without configuredFiles.
func NewWorld(cfg *config.Config) policy.State {
	world := guard.WorldOf(cfg.Codex)
	world.Sensitive = append(world.Sensitive, cfg.Serve.Places()...)
	return world
}

// exposed returns an error if sandboxed commands could change a file that the enforced policy
// depends on. It also fails if Codex would load environment variables that the policy does not see.
func (s Setup) exposed(cfg *config.Config, p *policy.Policy, world policy.State) error {
	var errs []error
	for _, one := range p.CheckSensitivePaths(s.Governing(cfg, world), world.Temps) {
		errs = append(errs, one)
	}
	if p.Mode() == config.Enforce {
		for _, one := range guard.CheckEnvFile(world) {
			errs = append(errs, one)
		}
		for _, one := range guard.CheckConfigFiles(cfg.Codex, world) {
			errs = append(errs, one)
		}
		if one := guard.CheckExecServer(cfg.Codex); one != nil {
			errs = append(errs, one)
		}
	}
	return errors.Join(errs...)
}

// SocketFolder returns the folder of the hooks' sockets.
func (s Setup) SocketFolder(world policy.State) (string, error) {
	state, err := statefolder.Path()
	if err != nil {
		return "", err
	}
	if s.SocketState != nil {
		state = s.SocketState(state)
	}
	return hook.DefaultFolder(state, func(folder string) bool {
		at, err := world.Paths.Canonical(folder)
		return err != nil || world.OverlapsTemp(at)
	}), nil
}

// FolderPolicies returns a function that loads the policy of another folder. It returns nil for a folder whose
// policy files are those of the workspace, which the active policy has, unless one of them was skipped. Without a
// workspace the active policy has no policy file.
func (s Setup) FolderPolicies(workspace string, skipped func() bool, log *slog.Logger) func(folder string) (*policy.Policy, error) {
	return func(folder string) (*policy.Policy, error) {
		files := config.WorkspaceFiles(folder)
		if len(files) == 0 || workspace != "" && !skipped() && slices.Equal(files, config.WorkspaceFiles(workspace)) {
			return nil, nil
		}
		cfg, err := config.Load(s.Files(folder))
		if err != nil {
			return nil, err
		}
		p, err := NewPolicy(cfg, log)
		if err != nil {
			return nil, err
		}
		return p, s.exposed(cfg, p, guard.WorldOf(cfg.Codex))
	}
}

// NewPolicy compiles the policy of a configuration. It logs keys that have no effect.
func NewPolicy(cfg *config.Config, log *slog.Logger) (*policy.Policy, error) {
	for _, n := range cfg.Unenforced() {
		log.Warn("the key has no effect in this mode", "key", n.Key, "file", n.Origin.File, "line", n.Origin.Line)
	}
	return policy.New(cfg.Policy, cfg.Place)
}

// KeepTrustList lists the projects that the user trusts before Codex can trust further ones by itself.
func KeepTrustList(cfg *config.Config) error {
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil || !guard.LetsCodexTrust(p) {
		return err
	}
	return guard.WriteTrustList(cfg.Codex)
}

// Watch makes a changed configuration effective for the next request. Of a file that is not valid the last
// valid content stays. reloaded is called after each change, with the error of such a file.
func (s Setup) Watch(ctx context.Context, files config.Options, cfg *config.Config, log *slog.Logger, reloaded func(error), setPolicy func(*policy.Policy), setConfig ...func(*config.Config)) {
	files = s.StartFiles(files)
	files.Loaded = cfg
	setSource := func(config.PolicySource) {}
	if s.Refresh != nil {
		files.Recheck, setSource = s.Refresh(ctx, cfg.PolicySource, log)
	}
	mode := cfg.Policy.Mode
	config.Watch(ctx, files, func(changed *config.Config, err error) {
		var p *policy.Policy
		if err == nil {
			p, err = NewPolicy(changed, log)
		}
		if err == nil {
			err = KeepTrustList(changed)
		}
		if err != nil {
			log.Error("the changed configuration is not valid; the old policy stays", "error", err)
			reloaded(err)
			return
		}
		setSource(changed.PolicySource)
		setPolicy(p)
		for _, set := range setConfig {
			set(changed)
		}
		log.Info("the changed configuration is effective", "mode", p.Mode())
		if mode == config.Enforce && p.Mode() != config.Enforce {
			log.Warn("the policy is no longer enforced for threads that open from now on", "mode", p.Mode())
		}
		mode = p.Mode()
		WarnAbout(changed, log)
		reloaded(changed.WorkspaceError())
	})
}
