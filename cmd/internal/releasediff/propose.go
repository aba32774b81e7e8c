package releasediff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
)

// Files with the decisions of the bridge.
const (
	schemaFile   = "bridge/methods/schema.json"
	featuresFile = "bridge/methods/features.txt"
	tableFile    = "bridge/methods/methods.txt"
	fieldsFile   = "bridge/methods/fields.txt"
	answersFile  = "bridge/policy/serverrequest/answerdecision.go"
	grantsFile   = "bridge/policy/serverrequest/answergrant.go"
	valuesFile   = "bridge/setting/values.go"
	needsFile    = "bridge/setting/requirements.go"
	hooksFile    = "bridge/methods/hooks.txt"
	commandsFile = "bridge/methods/commands.txt"
	flagsFile    = "bridge/methods/flags.txt"
	keysFile     = "bridge/methods/keys.txt"
)

// judgedEnums has the file that decides about the values of a type. Values of other types pass
// unless their field is refused.
var judgedEnums = map[string]string{
	"AskForApproval":                   valuesFile,
	"ApprovalsReviewer":                valuesFile,
	"SandboxMode":                      valuesFile,
	"SandboxPolicy.type":               valuesFile,
	"CommandExecutionApprovalDecision": answersFile,
	"FileChangeApprovalDecision":       answersFile,
	"ReviewDecision":                   answersFile,
	"FileSystemAccessMode":             grantsFile,
	"PermissionGrantScope":             grantsFile,
}

// readRequirements are the requirements that the bridge reads.
var readRequirements = []string{"allowedApprovalPolicies", "allowedApprovalsReviewers", "allowedSandboxModes"}

// proposer proposes verdicts.
type proposer struct {
	tested   *release.Release
	other    *release.Release
	policy   *policy.Policy
	features map[string]methods.Feature
}

// newProposer returns a proposer with an enforced policy that has the default values.
func newProposer(tested, other *release.Release) (*proposer, error) {
	cfg := config.Default().Policy
	cfg.Mode = config.Enforce
	p, err := policy.New(cfg, nil)
	if err != nil {
		return nil, err
	}
	rows, err := methods.Features()
	if err != nil {
		return nil, err
	}
	one := &proposer{tested: tested, other: other, policy: p, features: make(map[string]methods.Feature)}
	for _, row := range rows {
		one.features[row.Name] = row
	}
	return one, nil
}

// propose adds proposals to the new names.
func propose(tested, other *release.Release, changes []Change) error {
	p, err := newProposer(tested, other)
	if err != nil {
		return err
	}
	for i := range changes {
		one := &changes[i]
		switch {
		case one.Change == changed+" "+string(Feature):
			one.Verdict, one.Place = p.features[one.Name].Control, featuresFile
		case strings.HasPrefix(one.Change, isNew):
			p.proposeFor(one)
		}
	}
	return nil
}

func (p *proposer) proposeFor(c *Change) {
	switch c.Kind {
	case Method:
		row := p.proposedRow(*c.Side, c.Method)
		c.Class, c.Verdict, c.Place = row.Class, string(row.Verdict), tableFile
		if like, ok := nearestRow(*c.Side, c.Method); ok {
			c.Like, c.Verdict = like.Method, string(like.Verdict)
		}
	case Field, ResponseField:
		p.proposeField(c)
	case EnumValue:
		c.Like = nearest(c.Name, p.tested.Enums[c.Type], nil)
		c.Verdict, c.Place = "not judged", schemaFile
		if file := judgedEnums[c.Type]; file != "" {
			c.Verdict, c.Place = "judged", file
		}
	case Type:
		c.Place = schemaFile
	case HookEvent:
		c.Like, c.Verdict, c.Place = nearest(c.Name, p.tested.Enums[release.HookEvents], nil), "not relayed", hooksFile
		if slices.ContainsFunc(methods.HookEvents(), func(e methods.HookEvent) bool { return e.SchemaName() == c.Like && e.Relayed != methods.NotRelayed }) {
			c.Verdict = "relayed"
		}
	case RequirementField:
		c.Like, c.Verdict, c.Place = nearest(c.Name, p.tested.Requirements[c.Type], nil), "not read", needsFile
		if slices.Contains(readRequirements, c.Like) {
			c.Verdict = "read"
		}
	case Command:
		c.Like, c.Verdict, c.Place = nearest(c.Name, p.tested.Commands, nil), "refused", commandsFile
	case Flag:
		c.Like, c.Place = nearest(c.Name, p.tested.Flags[c.Command], nil), flagsFile
		c.Verdict = p.flagVerdict(c.Command, cmp.Or(c.Like, c.Name))
	case CommandFlag:
		c.Like, c.Place = nearest(c.Name, p.tested.CommandFlags[c.Command], nil), commandsFile
	case Tool:
		c.Like = nearest(c.Name, slices.Sorted(maps.Keys(p.tested.Tools[c.Model])), nil)
	case ConfigKey:
		c.Like, c.Place = nearest(c.Name, p.tested.ConfigKeys, nil), keysFile
		c.Verdict = p.argsVerdict("-c", cmp.Or(c.Like, c.Name)+"=1")
	case Feature:
		row := p.proposedFeature(c.Name, c.Is)
		c.Verdict, c.Place = row.Control, featuresFile
		if strings.HasPrefix(row.Why, proposedWhy) {
			c.Like = strings.TrimPrefix(row.Why, proposedWhy)
		}
	}
}

// proposeField sets the proposal for a new field of a method or type: that of the field with the
// same name elsewhere, or with the most similar name. A field of a type has no row of its own.
func (p *proposer) proposeField(c *Change) {
	if c.Method == "" {
		c.Like, c.Verdict, c.Place = nearest(c.Field, p.tested.Types[c.Type], nil), "not judged", "bridge/policy"
		return
	}
	c.Place = fieldsFile
	if *c.Side == methods.ServerNotification || *c.Side == methods.ServerRequest && c.Kind == Field {
		c.Verdict, c.Place = "not judged", schemaFile // Codex sends it
		return
	}
	var most similarity
	checked := false
	for row := range methods.Rows() {
		if row.Side != *c.Side {
			continue
		}
		shape := p.tested.Methods[row.Side][row.Method]
		fields := shape.Params
		if c.Kind == ResponseField {
			fields = shape.Answer
		}
		for _, field := range fields {
			isChecked := slices.Contains(row.Fields, field)
			s := compareWords(c.Field, field)
			if s.words < 3 { // no common word at an end
				continue
			}
			if field == c.Field {
				s.words += 100
			}
			if isChecked {
				s.strict = 1
			}
			if s.exceeds(most) {
				most, checked, c.Like = s, isChecked, row.Method+" "+field
			}
		}
	}
	c.Verdict = "not judged"
	if checked {
		c.Verdict = "checked"
	}
}

// flagVerdict returns what the policy does with a flag of a command.
func (p *proposer) flagVerdict(command, flag string) string {
	args := []string{strings.TrimSuffix(flag, "=")}
	if strings.HasSuffix(flag, "=") {
		args = append(args, "a")
	}
	if command == "codex" {
		return p.argsVerdict(append(args, "app-server")...)
	}
	return p.argsVerdict(append([]string{"app-server"}, args...)...)
}

// argsVerdict returns what the policy does with a command line.
func (p *proposer) argsVerdict(args ...string) string {
	if !slices.Contains(args, "app-server") {
		args = append(args, "app-server")
	}
	switch d := p.policy.DecideArgs(args, 0); d.Verdict {
	case policy.Deny:
		return "refused"
	case policy.Rewrite:
		return "removed"
	default:
		return "pass"
	}
}

// proposedWhy begins the reason of a proposed row. Tests fail until a person replaces it.
const proposedWhy = "TODO: judge, like "

// controls has the values of methods.Feature.Control, the strictest last.
var controls = []string{"none", "user", "judged", "pinned"}

// proposedFeature returns a row for a new feature with a stage and default.
func (p *proposer) proposedFeature(name, is string) methods.Feature {
	at := strings.LastIndexByte(is, ' ')
	row := methods.Feature{Name: name, Stage: is[:max(at, 0)], Default: is[at+1:], Control: "user", Why: "TODO: judge"}
	if row.Stage == "removed" {
		row.Control, row.Why = "none", "removed: it has no effect"
		return row
	}
	var names []string
	for name, f := range p.features {
		if f.Stage != "removed" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if like := nearest(name, names, func(name string) int { return slices.Index(controls, p.features[name].Control) }); like != "" {
		row.Control, row.Why = p.features[like].Control, proposedWhy+like
	}
	return row
}
