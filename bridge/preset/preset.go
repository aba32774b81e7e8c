// Package preset finds the approval policy, reviewer and sandbox that a thread is to have: from a preset, from how freely
// commands may be run, and from what the machine allows.
//
// The first of these has precedence: the value that the exec policy forces, the preset's value, the value that the
// machine's requirements allow. An unknown word is an error. The functions are pure; several goroutines may call them.
package preset

import (
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

// Input is all that is known.
type Input struct {
	Preset       string // "" for none
	Exec         execpolicy.Policy
	Requirements *requirements.Requirements // nil: the machine has none
}

// Result is what a thread is to have.
type Result struct{ Approval, Reviewer, Sandbox string }

// values are the three that go together.
type values struct{ approval, reviewer, sandbox string }

var (
	yolo     = values{setting.Never, setting.User, setting.DangerFullAccess}
	guardian = values{setting.OnRequest, setting.AutoReview, setting.WorkspaceWrite}
)

// Resolve finds it.
func Resolve(in Input) (Result, error) {
	if in.Preset != "" && in.Preset != Yolo && in.Preset != Guardian {
		return Result{}, fmt.Errorf("%q is not a preset; write %s or %s", in.Preset, Yolo, Guardian)
	}
	forced, err := in.forced()
	if err != nil {
		return Result{}, err
	}
	v := in.usual()
	if forced != nil {
		v = *forced
	}
	return Result{setting.Approval(v.approval), v.reviewer, v.sandbox}, nil
}

// usual returns the values where the exec policy forces none. The requirements count unless a preset was chosen.
func (in Input) usual() values {
	switch in.Preset {
	case Guardian:
		return guardian
	case Yolo:
		return yolo
	}
	r := in.Requirements
	if r.Approval(yolo.approval) != "" && r.Reviewer(yolo.reviewer) != "" && r.Sandbox(yolo.sandbox) != "" {
		return yolo
	}
	return values{r.Approval(), r.Reviewer(), r.Sandbox()}
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

// asked returns the values where Codex asks one of the reviewers, and sandbox is the widest one.
func (in Input) asked(sandbox string, reviewers ...string) (*values, error) {
	r := in.Requirements
	v := &values{approval: r.Approval(setting.OnRequest), reviewer: r.Reviewer(reviewers...)}
	if v.approval == "" || v.reviewer == "" {
		return nil, fmt.Errorf("the exec policy is %s, and this machine does not allow Codex to ask %s", in.Exec.Mode, reviewers[0])
	}
	switch {
	case sandbox != setting.DangerFullAccess:
		v.sandbox = r.Sandbox(setting.WorkspaceWrite, setting.ReadOnly)
	case r.Sandbox(sandbox) != "":
		v.sandbox = sandbox
	default:
		return nil, errDanger
	}
	if v.sandbox == "" {
		return nil, errSandbox
	}
	return v, nil
}
