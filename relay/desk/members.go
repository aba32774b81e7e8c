package desk

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
)

// Approver is a public key of the configuration. Its comment there names the person.
type Approver struct {
	Fingerprint string `json:"fingerprint"`
	Name        string `json:"name,omitempty"`

	key ssh.PublicKey
}

// plainName matches a comment that can't be taken for more than a name.
var plainName = regexp.MustCompile(`^[\pL\pN@.+_-]+( [\pL\pN@.+_-]+)*$`)

// String returns the fingerprint and the name.
func (a Approver) String() string {
	switch {
	case a.Name == "":
		return a.Fingerprint
	case plainName.MatchString(a.Name):
		return a.Fingerprint + " (" + a.Name + ")"
	}
	return a.Fingerprint + " (" + strconv.Quote(a.Name) + ")"
}

// keySet has the approvers by the wire form of their keys.
type keySet map[string]Approver

// parseKeys parses keys in the form of authorized_keys.
func parseKeys(lines []string) (keySet, error) {
	set := make(keySet)
	for _, line := range lines {
		key, comment, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
		if err != nil || key.Type() != ssh.KeyAlgoED25519 {
			return nil, fmt.Errorf("%q is not a public SSH key of the kind ssh-ed25519", line)
		}
		set[string(key.Marshal())] = Approver{ssh.FingerprintSHA256(key), comment, key}
	}
	return set, nil
}

func (s keySet) fingerprints() []string {
	list := []string{}
	for _, one := range s {
		list = append(list, one.Fingerprint)
	}
	slices.Sort(list)
	return list
}

// members are the keys of groups that count, by name.
type members map[string]keySet

// membersOf returns the members of groups without the person who runs the bridge.
func membersOf(cfg config.Desk, groups []config.Quorum) (members, error) {
	runner, err := parseKeys(cfg.Runner)
	if err != nil {
		return nil, fmt.Errorf("approvals.desk.runner: %w", err)
	}
	if len(runner) == 0 {
		return nil, errors.New("the bridge does not know who runs it, so it can't tell a second person; set approvals.desk.runner to your public SSH keys")
	}
	if len(groups) == 0 {
		return nil, errors.New("the request has no group")
	}
	all := make(members)
	for _, need := range groups {
		name := need.Group
		set, err := parseKeys(cfg.Groups[name].Keys)
		if err != nil {
			return nil, fmt.Errorf("approvals.desk.groups.%s: %w", name, err)
		}
		maps.DeleteFunc(set, func(key string, _ Approver) bool { _, own := runner[key]; return own })
		if len(set) == 0 {
			return nil, fmt.Errorf("the group %q has no member beside the person who runs the bridge", name)
		}
		if len(set) < need.Count {
			return nil, fmt.Errorf("%d members of the group %q must approve, and it has %d beside the person who runs the bridge", need.Count, name, len(set))
		}
		all[name] = set
	}
	return all, nil
}

// check returns the groups for which an answer counts, and who has signed it.
func (m members) check(r Request, a decision.DeskAnswer) (groups []string, by Approver, err error) {
	if d := Decision(a.Decision); d != Approve && d != Decline {
		return nil, by, fmt.Errorf("the decision %q is unknown", a.Decision)
	}
	for name, set := range m {
		one, wrong := set.verify(r, Decision(a.Decision), a.Signature)
		if wrong != nil {
			err = wrong
			continue
		}
		groups, by = append(groups, name), one
	}
	if groups == nil {
		return nil, by, err
	}
	return groups, by, nil
}

// Progress has the answers to a request, and the groups that must still approve it.
type Progress struct {
	Approved []GroupApproval `json:"approved"` // in the order of the request's groups
	Declined []Approver      `json:"declined,omitempty"`
	Missing  []config.Quorum `json:"missing"` // groups that must still approve, with how many more members
}

// GroupApproval has the members of a group who have approved, in the order of their answers.
type GroupApproval struct {
	Group string     `json:"group"`
	By    []Approver `json:"by"`
}

// String returns the approval as people read it.
func (g GroupApproval) String() string {
	var names []string
	for _, one := range g.By {
		names = append(names, one.String())
	}
	return g.Group + ": " + strings.Join(names, " and ")
}

// approvers returns who has approved, as people read it.
func (p Progress) approvers() string {
	var groups []string
	for _, one := range p.Approved {
		groups = append(groups, one.String())
	}
	return strings.Join(groups, ", ")
}

// progress checks the answers to a request. A key counts once for a group, however often its answer comes.
// problems has for each answer why it does not count, or nil.
func (m members) progress(r Request, answers []decision.DeskAnswer) (p Progress, problems []error) {
	approved := make(map[string][]Approver)
	for _, a := range answers {
		groups, by, err := m.check(r, a)
		problems = append(problems, err)
		switch {
		case err != nil:
		case Decision(a.Decision) == Decline:
			p.Declined = append(p.Declined, by)
		default:
			for _, name := range groups {
				if !slices.ContainsFunc(approved[name], func(one Approver) bool { return one.Fingerprint == by.Fingerprint }) {
					approved[name] = append(approved[name], by)
				}
			}
		}
	}
	for _, q := range r.Quorums() {
		by := approved[q.Group]
		if len(by) > 0 {
			p.Approved = append(p.Approved, GroupApproval{q.Group, by})
		}
		if len(by) < q.Count {
			p.Missing = append(p.Missing, config.Quorum{Group: q.Group, Count: q.Count - len(by)})
		}
	}
	return p, problems
}

// ProgressOf says how far a request is, as seen with the groups of a configuration, which may be another than that
// of the bridge that asks. If the last answer does not count, problem says why.
func ProgressOf(groups map[string]config.Group, r Request, answers []decision.DeskAnswer) (p Progress, problem error, err error) {
	all := make(members)
	for _, q := range r.Quorums() {
		group, known := groups[q.Group]
		if !known {
			return p, nil, fmt.Errorf("the configuration here has no group %q", q.Group)
		}
		set, err := parseKeys(group.Keys)
		if err != nil {
			return p, nil, fmt.Errorf("approvals.desk.groups.%s: %w", q.Group, err)
		}
		maps.DeleteFunc(set, func(_ string, one Approver) bool { return slices.Contains(r.Runner, one.Fingerprint) })
		all[q.Group] = set
	}
	p, problems := all.progress(r, answers)
	if len(problems) > 0 {
		problem = problems[len(problems)-1]
	}
	return p, problem, nil
}
