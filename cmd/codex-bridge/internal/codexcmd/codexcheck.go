// Package codexcmd has the commands that compare a release of Codex with the one that the bridge knows.
package codexcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/canary"
	"codex-bridge.example/cmd/codex-bridge/internal/compat"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/doctor"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/cmd/internal/core"
	"codex-bridge.example/cmd/internal/releasediff"
)

// CodexCmd is the command "codex-bridge codex".
type CodexCmd struct {
	Check codexCheckCmd `cmd:"" help:"Compare a Codex with the one that this bridge knows, and try it offline under a policy. The exit status is 1 if something that was tried does not work." example:"codex-bridge codex check --codex ./codex-next"`
}

type codexCheckCmd struct {
	Codex string `help:"The Codex to check; without it, the one that the bridge starts." name:"codex" placeholder:"PATH"`
	JSON  bool   `help:"Print JSON." name:"json"`
}

// Help describes the conversations.
func (codexCheckCmd) Help() string {
	return `The conversations need no account and no network: a scripted model plays the model. They have a policy,
folders and a home of Codex of their own, which are removed. A managed file applies to them, too.
If everything works, the state folder records that, and no notice says any more that the release is newer.`
}

// codexCheck is the outcome. The JSON names are stable.
type codexCheck struct {
	Codex        string                  `json:"codex"`
	Path         string                  `json:"path"`
	Table        string                  `json:"table"` // the release that the bridge knows
	Verdict      string                  `json:"verdict"`
	Works        bool                    `json:"works"`
	Changes      []releasediff.Change    `json:"changes"`
	NotCompared  map[release.Part]string `json:"notCompared,omitempty"`
	CompareError string                  `json:"compareError,omitempty"`
	Tried        []codexTrial            `json:"tried"`
	Notes        []string                `json:"notes,omitempty"`
}

type codexTrial struct {
	Name    string  `json:"name"`
	Does    string  `json:"does"`
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"`
}

// Run compares and tries a Codex, and records that it works.
func (c codexCheckCmd) Run(out io.Writer) error {
	if runtime.GOOS == "windows" {
		return errors.New("codex check runs commands of a Unix shell; on Windows, use \"codex-bridge methods diff\"")
	}
	cfg, err := configured.Load()
	if err != nil {
		return err
	}
	path, err := findOther(c.Codex, cfg)
	if err != nil {
		return err
	}
	program, err := release.Identity(path)
	if err != nil {
		return err
	}
	check := &codexCheck{Path: path, Table: methods.Measured, Changes: []releasediff.Change{}}
	err = exit.UntilStopped(func(ctx context.Context) error { return check.run(ctx, cfg) })
	if err != nil {
		return err
	}
	check.Verdict, check.Works = check.verdict(cfg), check.failed() == nil && check.isCompared()
	if check.Works {
		err = compat.RecordChecked(check.Codex, program, check.Verdict)
	} else {
		err = compat.ForgetChecked(check.Codex)
	}
	if err != nil {
		check.Notes = append(check.Notes, "the state folder does not record the result: "+err.Error())
	}
	if c.JSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		err = enc.Encode(check)
	} else {
		err = check.print(out)
	}
	if err == nil && !check.Works {
		err = exit.Status(exit.Failed)
	}
	return err
}

// findOther returns the absolute path of the Codex that --codex names, or else of the one that the bridge starts:
// parts of it run in other folders.
func findOther(name string, cfg *config.Config) (string, error) {
	if name == "" {
		return codex.Find(cfg.Codex.Command)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", exit.UsageError("--codex: " + err.Error())
	}
	return filepath.Abs(path)
}

// run fills everything but the verdict. An error means that there is no outcome.
func (c *codexCheck) run(ctx context.Context, cfg *config.Config) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := codex.Command{Path: c.Path, Args: cfg.Codex.Args, Env: configured.Setup.CodexEnviron(cfg)}
	if c.Codex, err = codex.NewProgram(command).Version(ctx); err != nil {
		return err
	}
	results, err := canary.Run(ctx, canary.Options{Bridge: self, Codex: c.Path, Args: command.Args, Env: command.Env})
	if err != nil {
		return err
	}
	for _, r := range results {
		trial := codexTrial{Name: r.Name, Does: r.Does, Seconds: r.Took.Round(100 * time.Millisecond).Seconds()}
		if r.Err != nil {
			trial.Error = r.Err.Error()
		}
		c.Tried = append(c.Tried, trial)
	}
	if err := c.compare(ctx, command); err != nil {
		if ctx.Err() != nil {
			return err
		}
		c.CompareError = fmt.Sprintf("%s can't be compared: %v", c.Path, err)
	}
	if err := core.Enforceable(cfg).Check(c.Codex); err != nil {
		c.Notes = append(c.Notes, "an enforced policy refuses this release all the same: "+err.Error())
	}
	if managed := configured.Files().Managed; managed != "" && c.failed() != nil {
		if _, err := os.Stat(managed); err == nil {
			c.Notes = append(c.Notes, managed+" applied to the conversations, too, and may be why one does not work")
		}
	}
	return nil
}

// compare finds the changes.
func (c *codexCheck) compare(ctx context.Context, command codex.Command) error {
	dir, remove, err := store.MakeScratch()
	if err != nil {
		return err
	}
	other, err := releasediff.Load(ctx, command, dir)
	if err := errors.Join(err, remove()); err != nil {
		return err
	}
	tested, err := release.Tested()
	if err != nil {
		return err
	}
	c.NotCompared = other.Unread
	c.Changes, err = releasediff.Compare(tested, other)
	return err
}

// isCompared reports whether the names that a client sends were compared.
func (c *codexCheck) isCompared() bool {
	return c.CompareError == "" && c.NotCompared[release.PartMethods] == "" && c.NotCompared[release.PartTypes] == ""
}

// failed returns the names of the conversations that do not work.
func (c *codexCheck) failed() (names []string) {
	for _, one := range c.Tried {
		if one.Error != "" {
			names = append(names, one.Name)
		}
	}
	return names
}

// verdict says in one line what the outcome means for a user.
func (c *codexCheck) verdict(cfg *config.Config) string {
	refused, others, known := 0, 0, 0 // new methods of clients, other new names, changed ones
	for _, one := range c.Changes {
		switch isNew := strings.HasPrefix(one.Change, "new "); {
		case isNew && one.Kind == releasediff.Method && one.Side.IsFromClient():
			refused++
		case isNew:
			others++
		default:
			known++
		}
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if c.CompareError != "" {
		add("its names could not be compared")
	} else {
		effect := "refused"
		if cfg.Policy.Mode != config.Enforce || cfg.Policy.UnknownMethods == "allow" {
			effect = "passed on under your configuration"
		}
		switch {
		case refused > 0:
			add("%s, %s", output.Count(refused, "new method"), effect)
		case others == 0:
			add("nothing new")
		}
		switch {
		case others > 0 && refused > 0:
			add("%s", output.Count(others, "other new name"))
		case others > 0:
			add("%s", output.Count(others, "new name"))
		}
		if known > 0 {
			add("%s changed or gone", output.Count(known, "known name"))
		}
		switch n := len(c.NotCompared); {
		case n > 0:
			add("%s not compared", output.Count(n, "part"))
		case known == 0:
			add("nothing known has changed")
		}
	}
	if failed := c.failed(); failed != nil {
		add("%d of %d conversations do not work: %s", len(failed), len(c.Tried), strings.Join(failed, ", "))
	} else {
		add("everything tried works")
	}
	return "Codex " + c.Codex + ": " + strings.Join(parts, "; ")
}

func (c *codexCheck) print(out io.Writer) error {
	w := output.NewPrinter(out)
	w.Line("%s", c.Verdict)
	for _, one := range c.Tried {
		state, detail := doctor.Fine, one.Does
		if one.Error != "" {
			state, detail = doctor.Broken, one.Does+": "+one.Error
		}
		w.Item(fmt.Sprintf("%-6s  %-14s  ", state, one.Name), detail)
	}
	if c.CompareError != "" {
		w.Item(fmt.Sprintf("%-6s  %-14s  ", doctor.Broken, "names"), c.CompareError)
	}
	for _, part := range slices.Sorted(maps.Keys(c.NotCompared)) {
		w.Item(fmt.Sprintf("%-6s  %-14s  ", doctor.Warn, "names"), fmt.Sprintf("the %s are not compared: %s", part, c.NotCompared[part]))
	}
	if len(c.Changes) > 0 {
		w.Line("\"codex-bridge methods diff --codex %s\" lists the names.", c.Path)
	}
	for _, note := range c.Notes {
		w.Line("%s", note)
	}
	return w.Failure()
}
