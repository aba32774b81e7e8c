package doctor

import (
	"fmt"
	"os"
	"strconv"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/relay/desk"
)

// examineDesk reports whether the commands of rules with approvers can be approved.
func examineDesk(cfg *config.Config) (all []finding) {
	d, seen := cfg.Approvals.Desk, make(map[config.Quorum]bool)
	for _, rule := range cfg.Policy.Rules {
		need, ok := rule.Quorum()
		if !ok || seen[need] {
			continue
		}
		seen[need] = true
		if err := desk.CheckQuorum(d, need); err != nil {
			all = append(all, finding{"approvers", Broken, problem.Text(err), "until then commands that need " + need.String() + " are refused"})
			continue
		}
		all = append(all, finding{"approvers", Fine, fmt.Sprintf("%s: %s of %s must approve within %s", need.Group, countWord(need.Count), output.Count(len(d.Groups[need.Group].Keys), "key"), d.Timeout), ""})
	}
	if d.Webhook != "" && os.Getenv(d.Secret) == "" {
		all = append(all, finding{"approvers", Warn, "the webhook gets no request: the environment variable " + d.Secret + " is not set", "set it where the editor starts the bridge"})
	}
	return all
}

// countWord returns a count in a sentence.
func countWord(n int) string {
	if n == 1 {
		return "one"
	}
	return strconv.Itoa(n)
}
