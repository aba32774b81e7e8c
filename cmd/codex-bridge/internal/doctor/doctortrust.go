package doctor

import (
	"fmt"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
)

// examineTrust lists the projects that the user's config.toml trusts, and which of them count.
func examineTrust(cfg *config.Config) (all []finding) {
	const name = "trust"
	if cfg.Policy.Mode == config.Off {
		return nil
	}
	home := guard.WorldOf(cfg.Codex).CodexHome
	list := guard.ReadTrustList(home)
	if list.Err != nil {
		return []finding{{name, Broken, list.Err.Error(), "until then no project's own configuration loads"}}
	}
	var counting, others []string
	for _, project := range guard.TrustedProjects(home) {
		if list.Counts(project) {
			counting = append(counting, project)
		} else {
			others = append(others, project)
		}
	}
	switch {
	case len(counting) == 0:
	case list.File == "":
		all = append(all, finding{name, Fine, "trusted projects, by you or by Codex without this policy: " + strings.Join(counting, ", "),
			"remove those from config.toml that you do not trust"})
	default:
		all = append(all, finding{name, Fine, "trusted projects, from before the policy or added by you to " + list.File + ": " + strings.Join(counting, ", "), ""})
	}
	if len(others) > 0 {
		all = append(all, finding{name, Warn, "stored as trusted by Codex while the policy was not enforced, so they do not count: " + strings.Join(others, ", "),
			fmt.Sprintf("add those that you trust to %s", list.File)})
	}
	return all
}
