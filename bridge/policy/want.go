package policy

import (
	"slices"

	"codex-bridge.example/rpc"
)

// Want is a fact that State can lack and that Codex can give. A decision that needs one is Deny until
// the caller has asked Codex for it and decides again; if Codex does not say, the denial stays.
type Want string

// These are the facts, in the order in which decisions want them.
const (
	WantNothing        Want = ""
	WantThreadFolder   Want = "folder"        // State.ThreadFolder, by thread/read
	WantLoadedProfile  Want = "loaded"        // State.LoadedProfile and State.NotLoaded
	WantStoredSandbox  Want = "stored"        // State.Stored, State.StoredSandbox and State.StoredApproval
	WantStoredApproval Want = "approval"      // the same, of which it needs State.StoredApproval
	WantConfiguration  Want = "configuration" // State.Defaults, by config/read for Decision.ConfigCwd
	WantModels         Want = "models"        // State.Models, by model/list
)

// wantRefusals has the refusals for facts that Codex does not give, in the order in which the bridge asks. Models
// are not among them: a rule that wants them refuses the message itself.
var wantRefusals = []struct {
	want                      Want
	field, rule, reason, hint string
}{
	{WantThreadFolder, "params.threadId", ruleTrust, "the bridge could not get the thread's folder from Codex", "send its cwd"},
	{WantLoadedProfile, "params.threadId", RuleProtected, "the bridge does not know whether Codex has loaded the thread", "resume the thread again"},
	{WantStoredSandbox, "params.threadId", RuleProtected, "the bridge could not get the thread's sandbox", "send sandbox"},
	{WantStoredApproval, "params.threadId", RuleApproval, "the bridge could not get the thread's approval policy", "send approvalPolicy"},
	{
		WantConfiguration, "params", RuleMode, "the bridge could not read Codex's configuration, which gives the omitted fields",
		"send approvalPolicy, approvalsReviewer and permissions",
	},
}

// Missing returns the fact to ask Codex for before the decision counts: the wanted one, or Codex's
// configuration for a thread that opens.
//
// Measured: Codex can use its own default for a field that a resume or fork omits, and some
// configuration of the machine wins over the thread's. So it is read even if the decision does not
// want it.
func (d Decision) Missing(st State) Want {
	if d.Want == WantNothing && d.Sent != nil && st.Defaults == nil {
		return WantConfiguration
	}
	return d.Want
}

// RefuseUnknown returns d, whose missing fact Codex does not give, as a denial.
func RefuseUnknown(d Decision, method string) Decision {
	if d.Verdict == Deny {
		return d
	}
	return Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
		Method: method, Rule: RuleMode, Reason: "the bridge could not read Codex's configuration", Hint: "find out why config/read fails",
	})}
}

// want notes that the decision needs a fact that State lacks.
func (c *request) want(w Want) { c.wants = append(c.wants, w) }

// wantConfiguration notes that the decision needs Codex's configuration for a folder.
func (c *request) wantConfiguration(folder string) {
	c.want(WantConfiguration)
	c.configFolder = folder
}

func (c *request) wantIf(needed bool, w Want) {
	if needed {
		c.want(w)
	}
}

// refuseUnknown refuses the message for the first fact that it wants, and returns that fact. A message that
// is refused already wants at most the models.
func (c *request) refuseUnknown() Want {
	if c.err != nil && slices.Contains(c.wants, WantModels) {
		return WantModels
	}
	for _, one := range wantRefusals {
		if c.err != nil || !slices.Contains(c.wants, one.want) {
			continue
		}
		stored := one.want == WantStoredSandbox || one.want == WantStoredApproval
		if stored && c.st.StoredProblem != "" {
			c.refuseUnknownSettings()
			return WantNothing
		}
		hint := one.hint
		if one.want == WantConfiguration && c.p.trust != trustCodex {
			hint = "find out why config/read fails" // whom the user trusts stands nowhere else
		}
		c.refuse(rpc.CodeRefused, one.field, one.rule, one.reason, hint)
		return one.want
	}
	return WantNothing
}
