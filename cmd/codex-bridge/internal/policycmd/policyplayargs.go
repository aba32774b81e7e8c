package policycmd

import (
	"fmt"
	"slices"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/cmd/codex-bridge/internal/simulate"
	"codex-bridge.example/cmd/internal/settings"
)

// runArgsCase runs a case about a command line. It decides as the program does before it starts
// Codex.
func runArgsCase(p *compiled, c *simulate.Case) []string {
	own := p.cfg.Codex.Args
	d := p.policy.DecideArgs(slices.Concat(own, c.Args), len(own))
	r, rules := &comparison{}, []string(nil)
	r.check("verdict", string(c.Want.Verdict), string(d.Verdict))
	if d.Err != nil {
		rules = append(rules, d.Err.Rule)
	}
	flags := []string{}
	for _, change := range d.Changes {
		rules, flags = append(rules, change.Rule), append(flags, change.Flag)
	}
	if c.Want.Rule != "" {
		r.checkRule(c.Want.Rule, rules)
	}
	if c.Want.Flags != nil && !slices.Equal(c.Want.Flags, flags) {
		r.check("taken out", fmt.Sprintf("%q", c.Want.Flags), fmt.Sprintf("%q", flags))
	}
	if c.Want.Args != nil && !slices.Equal(c.Want.Args, d.Args) && d.Verdict != policy.Deny {
		r.check("codex gets", fmt.Sprintf("%q", c.Want.Args), fmt.Sprintf("%q", d.Args))
	}
	if len(r.diffs) == 0 {
		return nil
	}
	if d.Err != nil {
		r.add("got: refused: %s", settings.DescribeRefusal(p.cfg, d.Err))
	}
	for _, change := range d.Changes {
		r.add("got: %s is taken out", change.Flag)
		r.add("     %s%s: %s", change.Rule, placeSuffix(p.cfg.Place(change.Rule)), change.Reason)
	}
	return r.diffs
}
