// Package doctor checks Codex, the configuration and the folders, and suggests fixes.
package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/compat"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/cmd/internal/settings"
)

// Cmd is the command "codex-bridge doctor".
type Cmd struct {
	JSON    bool   `help:"Print JSON." name:"json"`
	Managed string `help:"Check with this file as the managed one." placeholder:"FILE"`
}

// finding is one check of doctor, with an optional fix.
type finding struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ok | warn | broken
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// The states of a finding.
const (
	Fine   = "ok"
	Warn   = "warn"
	Broken = "broken"
)

// Run prints all checks. It returns an exit status of 1 if one is broken.
func (c Cmd) Run(out io.Writer) error {
	files, trial := configured.Files(), ""
	if c.Managed != "" {
		var err error
		if trial, err = filepath.Abs(c.Managed); err == nil {
			_, err = os.Stat(trial)
		}
		if err != nil {
			return exit.UsageError("--managed: " + problem.Text(err))
		}
		files.Managed = trial
	}
	var findings []finding
	err := exit.UntilStopped(func(ctx context.Context) error {
		findings = examine(ctx, files, trial)
		return context.Cause(ctx)
	})
	if err != nil {
		return err
	}
	failed := false
	for _, f := range findings {
		failed = failed || f.State == Broken
	}
	if c.JSON {
		if err := json.NewEncoder(out).Encode(findings); err != nil {
			return err
		}
	} else {
		printFindings(out, findings)
	}
	if failed {
		return exit.Status(exit.Failed)
	}
	return nil
}

func printFindings(out io.Writer, findings []finding) {
	w := output.NewPrinter(out)
	for _, f := range findings {
		w.Item(fmt.Sprintf("%-6s  %-13s  ", f.State, f.Name), f.Detail)
		if f.Hint != "" {
			w.Item(fmt.Sprintf("%-6s  %-13s  -> ", "", ""), f.Hint)
		}
	}
}

// examine returns the findings under these files. trial is the managed file if it is not the installed one.
func examine(ctx context.Context, files config.Options, trial string) []finding {
	cfg, err := config.LoadLenient(files)
	if err != nil {
		var all []finding
		for line := range strings.SplitSeq(problem.Text(err), "\n") {
			all = append(all, finding{"configuration", Broken, line, "no codex is started until it loads"})
		}
		return append(all, examineCodex(ctx, config.Default(), trial)...)
	}
	all := []finding{{Name: "configuration", State: Fine, Detail: "no file; the bridge is transparent"}}
	if files := cfg.Files(); len(files) > 0 {
		all[0].Detail = strings.Join(files, ", ")
	}
	all = append(all, examineInvalid(cfg)...)
	all = append(all, examineSource(cfg)...)
	all = append(all, examineTable(cfg)...)
	all = append(all, examinePolicy(cfg)...)
	all = append(all, examineTerminal(cfg)...)
	all = append(all, examineServe(cfg)...)
	all = append(all, examineRules(cfg, time.Now())...)
	all = append(all, examineDesk(cfg)...)
	all = append(all, examineUserRules(cfg)...)
	all = append(all, examineTrust(cfg)...)
	all = append(all, examineFolder(cfg)...)
	all = append(all, examineState(cfg)...)
	all = append(all, examineExposed(cfg)...)
	all = append(all, examineSecrets(cfg)...)
	all = append(all, examineLeftOvers(cfg)...)
	all = append(all, examineTools(cfg)...)
	all = append(all, examineTurns(cfg))
	all = append(all, examineImages(cfg)...)
	all = append(all, examineAgents(cfg)...)
	all = append(all, examineTraces(cfg)...)
	all = append(all, examineTranscripts(cfg)...)
	all = append(all, examineTelemetry(cfg)...)
	all = append(all, examineFleet(cfg)...)
	return append(all, examineCodex(ctx, cfg, trial)...)
}

// examineInvalid returns a finding for each part of the configuration that has no effect, and for each fault
// of a workspace file that does not load.
func examineInvalid(cfg *config.Config) (all []finding) {
	for _, w := range cfg.Warnings() {
		detail := *w
		detail.Hint = ""
		all = append(all, finding{"configuration", Warn, detail.Error(), w.Hint})
	}
	for _, one := range settings.LinkedRoots(cfg) {
		all = append(all, finding{"configuration", Warn, one.Problem() + "; it is not writable", one.Hint()})
	}
	for _, root := range missingRoots(cfg) {
		all = append(all, finding{"configuration", Warn, "policy.writable_roots: " + root + " does not exist, so it makes nothing writable", "correct the spelling, or create the folder"})
	}
	state := Warn
	if cfg.Policy.Mode == config.Enforce {
		state = Broken
	}
	for _, fault := range settings.ErrorLines(cfg.WorkspaceError()) {
		all = append(all, finding{"configuration", state, fault, settings.InvalidFileHint(cfg)})
	}
	return all
}

func examinePolicy(cfg *config.Config) []finding {
	mode := finding{"policy", Fine, string(cfg.Policy.Mode), ""}
	switch cfg.Policy.Mode {
	case config.Off:
		mode.Detail = "off: everything a client asks for reaches codex"
	case config.Audit:
		mode.State, mode.Detail, mode.Hint = Warn, "audit: decisions are logged, and nothing is refused", `set policy.mode to "enforce" when the log looks right`
	default:
		mode.Detail = fmt.Sprintf("enforce: %sapproval %s by %s, sandbox at most %s, network %t", assembly.PolicyProfile(cfg.Policy),
			strings.Join(cfg.Policy.Approval, " or "), strings.Join(cfg.Policy.Reviewers, " or "), cfg.Policy.Sandbox, cfg.Policy.Network)
	}
	if _, err := policy.New(cfg.Policy, cfg.Place); err != nil {
		mode.State, mode.Detail, mode.Hint = Broken, problem.Text(err), "see docs/reference/configuration.md"
	}
	all := []finding{mode}
	if f, ok := examineCommands(cfg); ok {
		all = append(all, f)
	}
	if f, ok := examineGate(cfg); ok {
		all = append(all, f)
	}
	all = append(all, examineProgramStarts(cfg)...)
	for _, n := range cfg.Unenforced() {
		all = append(all, finding{"policy", Warn, fmt.Sprintf("%s:%d: %s has no effect in this mode", n.Origin.File, n.Origin.Line, n.Key), n.Hint})
	}
	return all
}

// examineGate reports whether policy.gate is on, if the policy is enforced.
func examineGate(cfg *config.Config) (finding, bool) {
	switch {
	case cfg.Policy.Mode != config.Enforce:
		return finding{}, false
	case cfg.Policy.Gate:
		return finding{"gate", Fine, "with approval policy untrusted the bridge asks you; accepted commands stay in the sandbox", ""}, true
	}
	return finding{"gate", Warn, "with approval policy untrusted an accepted command may run outside the sandbox: policy.gate is false (" + settings.Origin(cfg, "policy.gate") + ")",
		`set policy.gate = true, with "pre_tool_use" in hooks.events`}, true
}

// examineCommands warns if Codex commands that are not harmless run without the policy.
func examineCommands(cfg *config.Config) (finding, bool) {
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil || p.Mode() != config.Enforce {
		return finding{}, false
	}
	open := p.OpenCommands()
	if open == nil {
		return finding{}, false
	}
	const maxNamed = 4
	list := "codex " + strings.Join(open[:min(maxNamed, len(open))], ", ")
	if more := len(open) - maxNamed; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return finding{"commands", Warn, list + ", started through us, run without this policy: policy.commands is " +
		fmt.Sprintf("%q (%s)", cfg.Policy.Commands, settings.Origin(cfg, "policy.commands")),
		"remove the patterns that are not needed, or leave the key out: the default has the harmless commands"}, true
}

func examineCodex(ctx context.Context, cfg *config.Config, trial string) []finding {
	path, err := codex.Find(cfg.Codex.Command)
	if err != nil {
		var find *codex.FindError
		if errors.As(err, &find) {
			return []finding{{"codex", Broken, find.Problem, find.Hint}}
		}
		return []finding{{"codex", Broken, problem.Text(err), ""}}
	}
	found := finding{Name: "codex", State: Fine}
	versionCtx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	version, err := codex.NewProgram(codex.Command{
		Path: path, Args: cfg.Codex.Args, Env: codex.Environ(os.Environ(), cfg.Codex.Env, cfg.Codex.EnvRemove),
	}).Version(versionCtx)
	found.Detail = fmt.Sprintf("%s, version %s", path, version)
	switch {
	case err != nil:
		found.State, found.Detail, found.Hint = Broken, problem.Text(err), "run it by hand, or name another one with "+codex.Env
	case codex.CheckVersion(version, cfg.Codex.MinVersion) != nil && cfg.Policy.Mode != config.Enforce:
		found.Detail += "; " + cfg.Codex.MinVersion + " or later is needed for an enforced policy"
		return []finding{found} // its commands may have other names
	case cfg.Policy.Mode == config.Enforce && core.Enforceable(cfg).Check(version) != nil:
		found.State, found.Detail = Broken, core.Enforceable(cfg).Check(version).Error()
		return []finding{found}
	case core.Enforceable(cfg).IsNewer(version):
		found.State, found.Hint = Warn, "install "+cfg.Codex.MaxVersion+" or an earlier release, or raise codex.max_version"
		found.Detail += "; an enforced policy would refuse it: codex.max_version is " + cfg.Codex.MaxVersion + " (" + cfg.Place("codex.max_version") + ")"
	case codex.CompareVersions(version, methods.Measured) > 0:
		if check, works := compat.LastCheck(version, path); works {
			found.Detail += "; checked on " + check.Time.Format(time.DateOnly) + ": " + check.Verdict
			break
		}
		found.State, found.Hint = Warn, "newer than "+methods.Measured+", which this bridge knows: fields that it does not know "+unknownFields(cfg.Policy.Mode)+"; \"codex-bridge codex check\" tries it"
	}
	sandbox := finding{"sandbox", Fine, "codex runs commands in its sandbox here", ""}
	nothing := commandThatDoesNothing(runtime.GOOS)
	if text, err := ask(ctx, cfg, path, append([]string{"sandbox", "--"}, nothing...)...); err != nil {
		sandbox = finding{"sandbox", Broken, fmt.Sprintf("codex can't run a command in its sandbox: %v: %s", err, lastLine(text)),
			"see \"codex sandbox -- " + strings.Join(nothing, " ") + "\"; on Linux it needs user namespaces"}
	}
	if found.State == Broken {
		return []finding{found, sandbox}
	}
	required, err := askServer(ctx, cfg, path, "configRequirements/read", "")
	all := slices.Concat([]finding{found}, examineMethods(ctx, cfg, path, version), []finding{examineHooks(ctx, cfg, required, err, trial)}, examineModels(ctx, cfg))
	if err == nil {
		all = append(all, examineRequirements(cfg, required, configured.Files().Requirements)...)
	}
	if cfg.Policy.Mode == config.Enforce {
		all = append(all, examineProfile(askConfig(ctx, cfg, path))...)
		all = append(all, examineOtherHooks(askHooks(ctx, cfg, path))...)
	}
	return append(all, sandbox)
}

func commandThatDoesNothing(goos string) []string {
	if goos == "windows" {
		return []string{"cmd.exe", "/c", "exit"}
	}
	return []string{"true"}
}

// unknownFields describes what happens to a field that is not in the schema of the tested Codex.
func unknownFields(mode config.Mode) string {
	if mode == config.Enforce {
		return "are removed, unless policy.unknown_methods allows them"
	}
	return "pass"
}

// ask runs codex with args, for at most 20 seconds, and returns its stdout and stderr.
func ask(ctx context.Context, cfg *config.Config, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	ended, err := child.Run(ctx, child.Command{
		Args: append([]string{path}, args...), Env: codex.Environ(os.Environ(), cfg.Codex.Env, cfg.Codex.EnvRemove),
		MaxStdout: 1 << 20, MaxStderr: 4096,
		Grace: time.Second, // for processes of a wrapper that still hold the pipe
	})
	if err == nil && ended.Code != 0 {
		err = errors.New(ended.Status)
	}
	return string(ended.Stdout) + string(ended.Stderr), err
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
