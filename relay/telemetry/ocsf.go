package telemetry

import (
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/policy"
)

// The numbers of OCSF 1.8.0.
const (
	ocsfVersion       = "1.8.0"
	ocsfClass         = 6003 // API Activity
	ocsfCategory      = 6    // Application Activity
	ocsfActivityOther = 99
)

// OCSFEvent is a decision as an event of the OCSF class API Activity, with the profile Security Control.
// An empty text of a decision is left out.
type OCSFEvent struct {
	ActivityID    int              `json:"activity_id"`
	ActivityName  string           `json:"activity_name"`
	CategoryUID   int              `json:"category_uid"`
	CategoryName  string           `json:"category_name"`
	ClassUID      int              `json:"class_uid"`
	ClassName     string           `json:"class_name"`
	TypeUID       int              `json:"type_uid"`
	TypeName      string           `json:"type_name"`
	Time          int64            `json:"time"` // Unix milliseconds
	SeverityID    int              `json:"severity_id"`
	Severity      string           `json:"severity"`
	StatusID      int              `json:"status_id"`
	Status        string           `json:"status"`
	Message       string           `json:"message,omitempty"`
	ActionID      int              `json:"action_id"`
	Action        string           `json:"action"`
	DispositionID int              `json:"disposition_id"`
	Disposition   string           `json:"disposition"`
	IsAlert       bool             `json:"is_alert"`
	Policy        *ocsfPolicy      `json:"policy,omitempty"`
	Actor         ocsfActor        `json:"actor"`
	API           ocsfAPI          `json:"api"`
	SrcEndpoint   ocsfEndpoint     `json:"src_endpoint"`
	RawDataHash   *ocsfFingerprint `json:"raw_data_hash,omitempty"`
	Metadata      ocsfMetadata     `json:"metadata"`
	Unmapped      ocsfUnmapped     `json:"unmapped"`
}

type ocsfPolicy struct {
	Name string `json:"name"`           // the rule
	Desc string `json:"desc,omitempty"` // the file and line that set it
}

type ocsfActor struct {
	AppName string       `json:"app_name"`
	Session *ocsfSession `json:"session,omitempty"`
}

// ocsfSession is a thread of Codex.
type ocsfSession struct {
	UID string `json:"uid"`
}

type ocsfAPI struct {
	Operation string      `json:"operation"`
	Service   ocsfProduct `json:"service"`
}

type ocsfEndpoint struct {
	ServiceName string `json:"svc_name"`
}

type ocsfFingerprint struct {
	AlgorithmID int    `json:"algorithm_id"`
	Algorithm   string `json:"algorithm"`
	Value       string `json:"value"`
}

type ocsfMetadata struct {
	Version        string      `json:"version"`
	Product        ocsfProduct `json:"product"`
	Profiles       []string    `json:"profiles"`
	LogName        string      `json:"log_name"`
	UID            string      `json:"uid,omitempty"`             // the hash of the entry
	Sequence       int64       `json:"sequence,omitempty"`        // its number
	CorrelationUID string      `json:"correlation_uid,omitempty"` // the turn
}

type ocsfProduct struct {
	Name       string `json:"name"`
	VendorName string `json:"vendor_name,omitempty"`
	Version    string `json:"version,omitempty"`
}

// ocsfUnmapped has the members of a decision for which OCSF has no attribute.
type ocsfUnmapped struct {
	Verdict  string   `json:"verdict"`
	Mode     string   `json:"mode"`
	Fields   []string `json:"fields,omitempty"`
	Previous string   `json:"previous,omitempty"`
	Chain    string   `json:"chain,omitempty"` // of a fleet log
}

// LogSource is where an entry comes from.
type LogSource struct {
	Version string // of the bridge
	Chain   string // of a fleet log; "" for the log of one bridge
}

// ocsfValue is a number of OCSF with its name.
type ocsfValue struct {
	id   int
	name string
}

// outcome is what OCSF, and the severity of CEF, say of a verdict.
type outcome struct {
	action, disposition, severity, status ocsfValue
	alert                                 bool
	cefSeverity                           int
}

var (
	informational = ocsfValue{1, "Informational"}
	success       = ocsfValue{1, "Success"}
)

// outcomes are those of an enforced policy.
var outcomes = map[policy.Verdict]outcome{
	policy.Pass:    {ocsfValue{1, "Allowed"}, ocsfValue{1, "Allowed"}, informational, success, false, 1},
	policy.Accept:  {ocsfValue{1, "Allowed"}, ocsfValue{8, "Approved"}, informational, success, false, 1},
	policy.Rewrite: {ocsfValue{4, "Modified"}, ocsfValue{11, "Corrected"}, ocsfValue{2, "Low"}, success, false, 3},
	policy.Deny:    {ocsfValue{2, "Denied"}, ocsfValue{2, "Blocked"}, ocsfValue{3, "Medium"}, ocsfValue{2, "Failure"}, true, 6},
}

// outcomeOf returns the outcome of a decision. A decision in audit is only logged. A verdict of another
// version is Other.
func outcomeOf(d decision.Record) outcome {
	if d.Mode == string(config.Audit) {
		return outcome{ocsfValue{3, "Observed"}, ocsfValue{17, "Logged"}, informational, success, false, 1}
	}
	if o, ok := outcomes[policy.Verdict(d.Verdict)]; ok {
		return o
	}
	other := ocsfValue{99, "Other"}
	return outcome{other, other, ocsfValue{0, "Unknown"}, other, false, 5}
}

// OCSF returns an entry as an event. An entry without a number and a hash
// is a decision that just went to the log.
func OCSF(e decision.Entry, from LogSource) OCSFEvent {
	o, client := outcomeOf(e.Record), e.Client
	if client == "" {
		client = "unknown"
	}
	out := OCSFEvent{
		ActivityID: ocsfActivityOther, ActivityName: "Policy decision",
		CategoryUID: ocsfCategory, CategoryName: "Application Activity",
		ClassUID: ocsfClass, ClassName: "API Activity",
		TypeUID: ocsfClass*100 + ocsfActivityOther, TypeName: "API Activity: Other",
		Time:       e.Time.UnixMilli(),
		SeverityID: o.severity.id, Severity: o.severity.name,
		StatusID: o.status.id, Status: o.status.name,
		Message:  e.Reason,
		ActionID: o.action.id, Action: o.action.name,
		DispositionID: o.disposition.id, Disposition: o.disposition.name, IsAlert: o.alert,
		Actor:       ocsfActor{AppName: client},
		API:         ocsfAPI{e.Method, ocsfProduct{Name: "codex app-server"}},
		SrcEndpoint: ocsfEndpoint{client},
		Metadata: ocsfMetadata{
			Version: ocsfVersion, Product: ocsfProduct{"codex-bridge", "codex-bridge", from.Version}, Profiles: []string{"security_control"},
			LogName: "decisions", UID: e.Hash, Sequence: e.Seq, CorrelationUID: e.Turn,
		},
		Unmapped: ocsfUnmapped{e.Verdict, e.Mode, e.Fields, e.Previous, from.Chain},
	}
	if e.Rule != "" {
		out.Policy = &ocsfPolicy{e.Rule, e.Origin}
	}
	if e.Thread != "" {
		out.Actor.Session = &ocsfSession{e.Thread}
	}
	if e.Message != "" {
		out.RawDataHash = &ocsfFingerprint{3, "SHA-256", e.Message}
	}
	return out
}
