package policycmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/doctor"
	"codex-bridge.example/cmd/codex-bridge/internal/simulate"
	"codex-bridge.example/cmd/internal/settings"
	"codex-bridge.example/rpc"
)

// caseRunner runs cases of `policy test` through the same guard as the proxy.
type caseRunner struct {
	policies map[string]*compiled // by the text of the configuration; "" is that of cases without one
	bundle   *config.Bundle       // a bundle, for cases without a policy; nil: the current configuration
}

// compiled is a configuration and its policy, with a line for each of its rules that has expired, that an earlier
// rule hides, or whose options match only as they are written.
type compiled struct {
	cfg                      *config.Config
	policy                   *policy.Policy
	expired, hidden, literal []string
}

// caseFolder is the workspace of a case, which replaces ${workspace}.
type caseFolder struct{ workspace string }

// run returns the differences of a case, one per line; none if the case passes. An error means
// that the case can't be run.
func (b *caseRunner) run(c *simulate.Case) ([]string, error) {
	p, err := b.compile(c.Policy)
	if err != nil {
		return nil, err
	}
	if c.Args != nil {
		return runArgsCase(p, c), nil
	}
	here, err := folderOf(c)
	if err != nil {
		return nil, err
	}
	world := guard.WorldOf(p.cfg.Codex)
	world.Programs, world.Links = nil, nil // a test does not depend on where this machine has its programs
	world.StartFolder = here.workspace
	g := guard.New(p.policy, world, guard.NoRecord, slog.New(slog.DiscardHandler))
	if c.Command != nil {
		return compareCommand(c.Want, g.ExplainCommand(here.text(*c.Command), here.workspace, "")), nil
	}
	m, err := rpc.ParseMessage(here.json(c.Message))
	if err != nil {
		var refused *rpc.MessageError
		if !errors.As(err, &refused) {
			return nil, err
		}
		return here.compare(c.Want, policy.Decision{Verdict: policy.Deny, Err: refused.Err})
	}
	situation := guard.Situation{Models: c.Models}
	if c.Server {
		situation.From = bridge.Codex
	}
	if situation.Thread, err = here.thread(c.Thread); err != nil {
		return nil, err
	}
	if situation.Defaults, err = here.defaults(c.Config); err != nil {
		return nil, err
	}
	if c.Asked != nil {
		asked, err := rpc.ParseMessage(here.json(c.Asked))
		if err != nil {
			return nil, fmt.Errorf("asked: %w", err)
		}
		situation.Question = &serverrequest.Request{Method: asked.Method, Params: asked.Params}
	}
	return here.compare(c.Want, g.ExplainIn(m, situation).Decision)
}

// compile loads a configuration as the user's file, and caches it.
func (b *caseRunner) compile(text *string) (*compiled, error) {
	key := ""
	if text != nil {
		key = "policy\n" + *text
	}
	if p := b.policies[key]; p != nil {
		return p, nil
	}
	load := func() (*config.Config, error) { return configOf(text) }
	if text == nil && b.bundle != nil {
		load = func() (*config.Config, error) { return loadBundleFile(*b.bundle) }
	}
	cfg, err := load()
	if err != nil {
		return nil, err
	}
	p, err := settings.NewPolicy(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	now := guard.World().Now()
	c := &compiled{cfg, p, cfg.Policy.ExpiredRules(now), doctor.HiddenRules(&cfg.Policy, now), doctor.LiteralOptions(&cfg.Policy)}
	if text != nil {
		for _, lines := range [][]string{c.expired, c.hidden, c.literal} {
			for i, line := range lines {
				lines[i] = strings.ReplaceAll(line, cfg.Files()[0], "policy")
			}
		}
	}
	b.policies[key] = c
	return b.policies[key], nil
}

// notes returns the lines about rules of the configurations that the cases use.
func (b *caseRunner) notes(of func(*compiled) []string) []string {
	lines := []string{}
	for _, c := range b.policies {
		lines = append(lines, of(c)...)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func configOf(text *string) (*config.Config, error) {
	if text == nil {
		return configured.LoadStrict()
	}
	file := filepath.Join(caseRoot(), "policy")
	cfg, err := config.Load(config.Options{Draft: &config.Draft{File: file, Text: *text}, Home: config.Discover("").Home, Check: settings.CheckPolicy})
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), file, "policy"))
	}
	return cfg, nil
}

// caseRoot returns the folder of the cases that name none, and of their policy. There is no such folder: in one that
// the test created, commands of a thread could plant links and policy files.
func caseRoot() string {
	root, err := filepath.Abs(string(filepath.Separator))
	if err != nil {
		root = string(filepath.Separator)
	}
	return filepath.Join(root, "codex-bridge-policy-test")
}

// folderOf returns the folder of a case, relative to the case's file.
func folderOf(c *simulate.Case) (*caseFolder, error) {
	folder := c.Workspace
	switch {
	case folder == "":
		folder = filepath.Join(caseRoot(), "workspace")
	case !filepath.IsAbs(folder):
		folder = filepath.Join(filepath.Dir(c.File), folder)
	}
	folder, err := filepath.Abs(folder)
	if err == nil {
		folder, err = guard.World().Paths.Canonical(folder)
	}
	if err != nil {
		return nil, err
	}
	return &caseFolder{folder}, nil
}

const workspaceWord = "${workspace}"

// json replaces ${workspace} in a JSON text.
func (p *caseFolder) json(text []byte) []byte {
	quoted, _ := json.Marshal(p.workspace) // a string
	return bytes.ReplaceAll(text, []byte(workspaceWord), quoted[1:len(quoted)-1])
}

func (p *caseFolder) text(s string) string { return strings.ReplaceAll(s, workspaceWord, p.workspace) }

func (p *caseFolder) thread(t *simulate.CaseThread) (*policy.Thread, error) {
	if t == nil {
		return nil, nil //nolint:nilnil // a case without a thread
	}
	folder := p.workspace
	if t.Workspace != "" {
		folder = p.text(t.Workspace)
	}
	folder, err := guard.World().Paths.Canonical(folder)
	if err != nil {
		return nil, fmt.Errorf("thread.workspace: %w", err)
	}
	return &policy.Thread{ID: t.ID, Workspace: folder, Sandbox: t.Sandbox}, nil
}

func (p *caseFolder) defaults(config json.RawMessage) (*policy.Defaults, error) {
	if config == nil {
		return nil, nil //nolint:nilnil // a case without Codex's configuration
	}
	doc, err := rpc.ParseValue([]byte(`{"config":` + string(p.json(config)) + `}`))
	if err != nil {
		return nil, fmt.Errorf("codex_config: %w", err)
	}
	return policy.ParseDefaults(doc.Root())
}
