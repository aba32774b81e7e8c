package setting

import (
	"errors"
	"fmt"
)

// Presets.
const (
	PresetYolo     = "yolo"     // no approvals and no sandbox
	PresetGuardian = "guardian" // a model reviews actions that leave the workspace
)

// PresetInput has the values from which ResolvePreset finds the settings of a thread.
type PresetInput struct {
	Preset       string // "" for none
	Exec         ExecPolicy
	Requirements *Requirements // nil if the machine has none
}

// Values are the settings of a thread.
type Values struct{ Approval, Reviewer, Sandbox string }

var (
	yolo     = Values{Never, User, DangerFullAccess}
	guardian = Values{OnRequest, AutoReview, WorkspaceWrite}
)

// ResolvePreset returns the settings of a thread. The values that the exec policy forces have
// precedence over those of the preset, and these over the values that the machine's requirements
// allow. A word that is not a preset, and a combination that the requirements do not allow, is an
// error.
func ResolvePreset(in PresetInput) (Values, error) {
	if in.Preset != "" && in.Preset != PresetYolo && in.Preset != PresetGuardian {
		return Values{}, fmt.Errorf("%q is not a preset; write %s or %s", in.Preset, PresetYolo, PresetGuardian)
	}
	v, forced, err := in.forcedValues()
	if err != nil {
		return Values{}, err
	}
	if !forced {
		v = in.defaultValues()
	}
	v.Approval = Approval(v.Approval)
	return v, nil
}

// defaultValues returns the values if the exec policy forces none. Requirements apply unless a
// preset was chosen.
func (in PresetInput) defaultValues() Values {
	switch in.Preset {
	case PresetGuardian:
		return guardian
	case PresetYolo:
		return yolo
	}
	r := in.Requirements
	if r.Approval(yolo.Approval) != "" && r.Reviewer(yolo.Reviewer) != "" && r.Sandbox(yolo.Sandbox) != "" {
		return yolo
	}
	return Values{r.Approval(), r.Reviewer(), r.Sandbox()}
}

var (
	errLocal   = errors.New("commands may not be run here: the exec policy has to be ask, auto or full for Codex")
	errDanger  = errors.New("the exec policy is full, and this machine does not allow Codex " + DangerFullAccess)
	errSandbox = errors.New("this machine allows Codex no sandbox that is narrow enough")
)

// forcedValues returns the values that the exec policy demands; ok is false if it demands none.
func (in PresetInput) forcedValues() (v Values, ok bool, err error) {
	x := in.Exec
	switch {
	case !x.Touched:
		return Values{}, false, nil
	case x.Security == SecurityFull && x.Ask == AskAlways:
		v, err = in.askingValues(DangerFullAccess, User)
	case x.Mode == ModeAsk:
		v, err = in.askingValues(WorkspaceWrite, User)
	case x.Mode == ModeAuto:
		v, err = in.askingValues(WorkspaceWrite, AutoReview, GuardianSubagent)
	case x.Mode == SecurityFull:
		return Values{}, false, nil
	default:
		err = errLocal
	}
	return v, err == nil, err
}

// askingValues returns values with one of the reviewers. The sandbox is at most the given one.
func (in PresetInput) askingValues(sandbox string, reviewers ...string) (Values, error) {
	r := in.Requirements
	v := Values{Approval: r.Approval(OnRequest), Reviewer: r.Reviewer(reviewers...)}
	if v.Approval == "" || v.Reviewer == "" {
		return Values{}, fmt.Errorf("the exec policy is %s, and this machine does not allow Codex to ask %s", in.Exec.Mode, reviewers[0])
	}
	switch {
	case sandbox != DangerFullAccess:
		v.Sandbox = r.Sandbox(WorkspaceWrite, ReadOnly)
	case r.Sandbox(sandbox) != "":
		v.Sandbox = sandbox
	default:
		return Values{}, errDanger
	}
	if v.Sandbox == "" {
		return Values{}, errSandbox
	}
	return v, nil
}
