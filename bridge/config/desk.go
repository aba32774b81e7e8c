package config

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
)

// maxApprovers is how many members of a group a rule can need. The store keeps 64 answers to a request.
const maxApprovers = 16

// Quorum is how many members of a group must approve.
type Quorum struct {
	Group string `json:"group"`
	Count int    `json:"count"`
}

// String returns the quorum as people read it: "release", or "2 of release".
func (q Quorum) String() string {
	if q.Count == 1 {
		return q.Group
	}
	return fmt.Sprintf("%d of %s", q.Count, q.Group)
}

// Quorum returns who must approve, and false for a rule without approvers.
func (r *Rule) Quorum() (Quorum, bool) {
	return Quorum{r.Approvers, max(r.ApproverCount, 1)}, r.Approvers != ""
}

// MergeQuorums returns what a call needs that needs both lists, sorted by group: of each group the greater count.
func MergeQuorums(a, b []Quorum) []Quorum {
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(a, b Quorum) int { return cmp.Or(strings.Compare(a.Group, b.Group), b.Count-a.Count) })
	return slices.CompactFunc(all, func(a, b Quorum) bool { return a.Group == b.Group })
}

// JoinQuorums returns quorums as people read them.
func JoinQuorums(list []Quorum, separator string) string {
	var texts []string
	for _, q := range list {
		texts = append(texts, q.String())
	}
	return strings.Join(texts, separator)
}

// finishDesk checks the rules with approvers. A hook that fails must not let their commands run.
func (m *merger) finishDesk() {
	c := m.cfg
	for i := range c.Policy.Rules {
		r := &c.Policy.Rules[i]
		if r.Approvers == "" {
			if r.ApproverCount != 0 {
				m.failAt(r.Origin, "policy.rule.approver_count", newError("the rule has no approvers", "name their group in approvers, or leave approver_count out"))
			}
			continue
		}
		group := Key("approvals", "desk", "groups", r.Approvers)
		fail := func(message, hint string) { m.failAt(r.Origin, "policy.rule.approvers", newError(message, hint)) }
		switch origin, known := c.origins[group]; {
		case r.Decision != "ask":
			fail("the rule does not ask", `write decision = "ask", or leave approvers out`)
		case r.Command == "":
			fail("the rule has no command", "approvers are for commands; add a command, or leave approvers out")
		case r.Path != "":
			fail("the rule has a path", "approvers are for commands; write another rule for the path")
		case m.leftOut[group]:
			m.warn(r.Origin, "policy.rule.approvers", newError(fmt.Sprintf(`"deny" holds: %s was left out`, group), ""))
			r.Decision, r.Approvers, r.ApproverCount = "deny", "", 0
		case !known:
			fail(fmt.Sprintf("there is no group %q", r.Approvers), "add ["+group+"]")
		case origin.Layer > r.Origin.Layer:
			fail(fmt.Sprintf("only a later layer, %s, has the group %q", origin, r.Approvers), "add ["+group+"] to the file of the rule, or to one before it")
		}
	}
	if d := c.Approvals.Desk; d.Webhook != "" && d.Secret == "" {
		m.failAt(c.origins["approvals.desk.webhook"], "approvals.desk.webhook", newError("the webhook can't tell who sends a request", "name a variable with a secret in webhook_secret_env"))
	} else if d.Secret != "" && !slices.Contains(c.Codex.EnvRemove, d.Secret) {
		c.Codex.EnvRemove = append(slices.Clip(c.Codex.EnvRemove), d.Secret) // commands must not get it
	}
	if len(c.Approvals.Desk.Groups) > 0 && c.Hooks.OnFailure == "allow" {
		m.warn(c.origins["hooks.on_failure"], "hooks.on_failure", newError(`"deny" holds: a group in approvals.desk.groups must approve commands, also if a hook fails`, `write "deny"`))
		c.Hooks.OnFailure = "deny"
	}
}

// checkPublicKey refuses all but an ed25519 key in the form of authorized_keys.
func checkPublicKey(s string) *Error {
	const kind = "ssh-ed25519"
	words := strings.Fields(s)
	if len(words) >= 2 && words[0] == kind && !strings.ContainsAny(s, "\r\n") {
		blob, err := base64.StdEncoding.DecodeString(words[1])
		if begin := []byte("\x00\x00\x00\x0b" + kind + "\x00\x00\x00\x20"); err == nil && bytes.HasPrefix(blob, begin) && len(blob) == len(begin)+32 {
			return nil
		}
	}
	return newError(quote(s)+" is not a public SSH key of the kind "+kind, "copy the line of a file such as ~/.ssh/id_ed25519.pub")
}
