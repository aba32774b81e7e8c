package siem

import (
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/store"
)

// The numbers of OCSF 1.8.0.
const (
	ocsfVersion   = "1.8.0"
	classUID      = 6003 // API Activity
	categoryUID   = 6    // Application Activity
	activityOther = 99
)

// Event is a decision as an event of the OCSF class API Activity, with the profile Security Control.
// An empty text of a decision is left out.
type Event struct {
	ActivityID    int          `json:"activity_id"`
	ActivityName  string       `json:"activity_name"`
	CategoryUID   int          `json:"category_uid"`
	CategoryName  string       `json:"category_name"`
	ClassUID      int          `json:"class_uid"`
	ClassName     string       `json:"class_name"`
	TypeUID       int          `json:"type_uid"`
	TypeName      string       `json:"type_name"`
	Time          int64        `json:"time"` // Unix milliseconds
	SeverityID    int          `json:"severity_id"`
	Severity      string       `json:"severity"`
	StatusID      int          `json:"status_id"`
	Status        string       `json:"status"`
	Message       string       `json:"message,omitempty"`
	ActionID      int          `json:"action_id"`
	Action        string       `json:"action"`
	DispositionID int          `json:"disposition_id"`
	Disposition   string       `json:"disposition"`
	IsAlert       bool         `json:"is_alert"`
	Policy        *policyRef   `json:"policy,omitempty"`
	Actor         actor        `json:"actor"`
	API           api          `json:"api"`
	SrcEndpoint   endpoint     `json:"src_endpoint"`
	RawDataHash   *fingerprint `json:"raw_data_hash,omitempty"`
	Metadata      metadata     `json:"metadata"`
	Unmapped      unmapped     `json:"unmapped"`
}

type policyRef struct {
	Name string `json:"name"`           // the rule
	Desc string `json:"desc,omitempty"` // the file and line that set it
}

type actor struct {
	AppName string   `json:"app_name"`
	Session *session `json:"session,omitempty"`
}

// session is a thread of Codex.
type session struct {
	UID string `json:"uid"`
}

type api struct {
	Operation string  `json:"operation"`
	Service   product `json:"service"`
}

type endpoint struct {
	ServiceName string `json:"svc_name"`
}

type fingerprint struct {
	AlgorithmID int    `json:"algorithm_id"`
	Algorithm   string `json:"algorithm"`
	Value       string `json:"value"`
}

type metadata struct {
	Version        string   `json:"version"`
	Product        product  `json:"product"`
	Profiles       []string `json:"profiles"`
	LogName        string   `json:"log_name"`
	UID            string   `json:"uid,omitempty"`             // the hash of the entry
	Sequence       int64    `json:"sequence,omitempty"`        // its number
	CorrelationUID string   `json:"correlation_uid,omitempty"` // the turn
}

type product struct {
	Name       string `json:"name"`
	VendorName string `json:"vendor_name,omitempty"`
	Version    string `json:"version,omitempty"`
}

// unmapped has the members of a decision for which OCSF has no attribute.
type unmapped struct {
	Verdict  string   `json:"verdict"`
	Mode     string   `json:"mode"`
	Fields   []string `json:"fields,omitempty"`
	Previous string   `json:"previous,omitempty"`
	Chain    string   `json:"chain,omitempty"` // of a fleet log
}

// Source is where an entry comes from.
type Source struct {
	Version string // of the bridge
	Chain   string // of a fleet log; "" for the log of one bridge
}

// value is a number of OCSF with its name.
type value struct {
	id   int
	name string
}

// outcome is what OCSF, and the severity of CEF, say of a verdict.
type outcome struct {
	action, disposition, severity, status value
	alert                                 bool
	cefSeverity                           int
}

var (
	informational = value{1, "Informational"}
	success       = value{1, "Success"}
)

// outcomes are those of an enforced policy.
var outcomes = map[policy.Verdict]outcome{
	policy.Pass:    {value{1, "Allowed"}, value{1, "Allowed"}, informational, success, false, 1},
	policy.Accept:  {value{1, "Allowed"}, value{8, "Approved"}, informational, success, false, 1},
	policy.Rewrite: {value{4, "Modified"}, value{11, "Corrected"}, value{2, "Low"}, success, false, 3},
	policy.Deny:    {value{2, "Denied"}, value{2, "Blocked"}, value{3, "Medium"}, value{2, "Failure"}, true, 6},
}

// outcomeOf returns the outcome of a decision. A decision in audit is only logged. A verdict of another
// version is Other.
func outcomeOf(d store.Decision) outcome {
	if d.Mode == string(config.Audit) {
		return outcome{value{3, "Observed"}, value{17, "Logged"}, informational, success, false, 1}
	}
	if o, ok := outcomes[policy.Verdict(d.Verdict)]; ok {
		return o
	}
	other := value{99, "Other"}
	return outcome{other, other, value{0, "Unknown"}, other, false, 5}
}

// OCSF returns an entry as an event. An entry without a number and a hash
// is a decision that just went to the log.
func OCSF(e store.Entry, from Source) Event {
	o, client := outcomeOf(e.Decision), e.Client
	if client == "" {
		client = "unknown"
	}
	out := Event{
		ActivityID: activityOther, ActivityName: "Policy decision",
		CategoryUID: categoryUID, CategoryName: "Application Activity",
		ClassUID: classUID, ClassName: "API Activity",
		TypeUID: classUID*100 + activityOther, TypeName: "API Activity: Other",
		Time:       e.Time.UnixMilli(),
		SeverityID: o.severity.id, Severity: o.severity.name,
		StatusID: o.status.id, Status: o.status.name,
		Message:  e.Reason,
		ActionID: o.action.id, Action: o.action.name,
		DispositionID: o.disposition.id, Disposition: o.disposition.name, IsAlert: o.alert,
		Actor:       actor{AppName: client},
		API:         api{e.Method, product{Name: "codex app-server"}},
		SrcEndpoint: endpoint{client},
		Metadata: metadata{
			Version: ocsfVersion, Product: product{"codex-bridge", "codex-bridge", from.Version}, Profiles: []string{"security_control"},
			LogName: "decisions", UID: e.Hash, Sequence: e.Seq, CorrelationUID: e.Turn,
		},
		Unmapped: unmapped{e.Verdict, e.Mode, e.Fields, e.Previous, from.Chain},
	}
	if e.Rule != "" {
		out.Policy = &policyRef{e.Rule, e.Origin}
	}
	if e.Thread != "" {
		out.Actor.Session = &session{e.Thread}
	}
	if e.Message != "" {
		out.RawDataHash = &fingerprint{3, "SHA-256", e.Message}
	}
	return out
}
