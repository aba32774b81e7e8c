// Package preset finds the approval policy, reviewer and sandbox that a thread is to have:
// from what is written down, from how freely commands may be run, and from what the
// machine allows.
//
// The first of these has precedence: the value that the exec policy forces, the configured value, the
// value that the machine's requirements allow, the preset's value. An unknown word is an error. The
// functions are pure; several goroutines may call them.
package preset

import (
	"cmp"
	"errors"
	"fmt"

	"codex-bridge/bridge/execpolicy"
	"codex-bridge/bridge/requirements"
	"codex-bridge/bridge/setting"
)

// The presets.
const (
	Yolo     = "yolo"     // nothing is asked, nothing held back
	Guardian = "guardian" // a model reviews what leaves the workspace
)

// Source is who has said which approval policy is in force.
type Source string

// The sources.
const (
	Config       Source = "config"
	Requirements Source = "requirements" // or the exec policy
	Implicit     Source = "implicit"     // nobody: it is the preset's
)

// Settings are what one hand has written down; "" is not said.
type Settings struct {
	Preset      string
	Approval    string
	Sandbox     string
	Reviewer    string
	ServiceTier string
}

// Input is all that is known.
type Input struct {
	Config       Settings
	Exec         execpolicy.Policy
	Requirements *requirements.Requirements // nil: the machine has none
	// HostSandboxed tells that the host runs commands in a sandbox of its own.
	HostSandboxed bool
}

// Result is what a thread is to have.
type Result struct {
	Approval       string
	ApprovalSource Source
	Reviewer       string
	Sandbox        string
	ServiceTier    string // "" leaves it to Codex
}

// values are the three that go together.
type values struct{ approval, reviewer, sandbox string }

var (
	yolo     = values{setting.Never, setting.User, setting.DangerFullAccess}
	guardian = values{setting.OnRequest, setting.AutoReview, setting.WorkspaceWrite}
)

// Resolve finds it.
func Resolve(in Input) (Result, error) {
	if err := in.Config.check(); err != nil {
		return Result{}, err
	}
	forced, err := in.forced()
	if err != nil {
		return Result{}, err
	}
	v, source := in.usual()
	c := in.Config
	v = values{cmp.Or(c.Approval, v.approval), cmp.Or(c.Reviewer, v.reviewer), cmp.Or(c.Sandbox, v.sandbox)}
	if forced != nil {
		v, source = *forced, Requirements
	}
	if c.Approval != "" {
		source = Config
	}
	return Result{setting.Approval(v.approval), source, v.reviewer, v.sandbox, setting.ServiceTier(c.ServiceTier)}, nil
}

// usual is what holds where nothing particular is said. The requirements count unless a
// preset was chosen.
func (in Input) usual() (values, Source) {
	switch in.Config.Preset {
	case Guardian:
		return guardian, Implicit
	case Yolo:
		return yolo, Implicit
	}
	r := in.Requirements
	if r.Approval(yolo.approval) != "" && r.Reviewer(yolo.reviewer) != "" && r.Sandbox(yolo.sandbox) != "" {
		return yolo, Implicit
	}
	return values{r.Approval(), r.Reviewer(), r.Sandbox()}, Requirements
}

var (
	errLocal   = errors.New("commands may not be run here: the exec policy has to be ask, auto or full for Codex")
	errDanger  = errors.New("the exec policy is full, and this machine does not allow Codex " + setting.DangerFullAccess)
	errSandbox = errors.New("this machine allows Codex no sandbox that is narrow enough")
)

// forced is what the exec policy demands, nil when it demands nothing.
func (in Input) forced() (*values, error) {
	x := in.Exec
	switch {
	case !x.Touched:
		return nil, nil
	case x.Security == execpolicy.Full && x.Ask == execpolicy.Always:
		return in.asked(setting.DangerFullAccess, setting.User)
	case x.Mode == execpolicy.Ask:
		return in.asked(setting.WorkspaceWrite, setting.User)
	case x.Mode == execpolicy.Auto:
		return in.asked(setting.WorkspaceWrite, setting.AutoReview, setting.GuardianSubagent)
	case x.Mode == execpolicy.Full:
		return nil, nil
	}
	return nil, errLocal
}

// asked is: Codex asks one of the reviewers, and sandbox is the most that there is. A
// sandbox that is configured as read-only stays.
func (in Input) asked(sandbox string, reviewers ...string) (*values, error) {
	r := in.Requirements
	v := &values{approval: r.Approval(setting.OnRequest), reviewer: r.Reviewer(reviewers...)}
	if v.approval == "" || v.reviewer == "" {
		return nil, fmt.Errorf("the exec policy is %s, and this machine does not allow Codex to ask %s", in.Exec.Mode, reviewers[0])
	}
	narrow := []string{setting.WorkspaceWrite, setting.ReadOnly}
	switch {
	case in.Config.Sandbox == setting.ReadOnly:
		v.sandbox = setting.ReadOnly
	case sandbox != setting.DangerFullAccess:
		v.sandbox = r.Sandbox(narrow...)
	case r.Sandbox(sandbox) != "":
		v.sandbox = sandbox
	case in.HostSandboxed:
		v.sandbox = r.Sandbox(narrow...)
	default:
		return nil, errDanger
	}
	if v.sandbox == "" {
		return nil, errSandbox
	}
	return v, nil
}

func (s Settings) check() error {
	switch {
	case s.Preset != "" && s.Preset != Yolo && s.Preset != Guardian:
		return fmt.Errorf("%q is not a preset; write %s or %s", s.Preset, Yolo, Guardian)
	case s.Approval != "" && !setting.IsApproval(s.Approval):
		return fmt.Errorf("%q is not an approval policy; write untrusted, on-request or never", s.Approval)
	case s.Sandbox != "" && !setting.IsSandbox(s.Sandbox):
		return fmt.Errorf("%q is not a sandbox mode; write read-only, workspace-write or danger-full-access", s.Sandbox)
	case s.Reviewer != "" && !setting.IsReviewer(s.Reviewer):
		return fmt.Errorf("%q reviews no approvals; write user or auto_review", s.Reviewer)
	}
	return nil
}
