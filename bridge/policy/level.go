package policy

import "codex-bridge/rpc"

// level is how much a sandbox lets through.
type level uint8

const (
	readOnly level = iota
	workspaceWrite
	fullAccess
)

// The three names of a level: as a mode (thread requests, configuration), as
// the type of a sandboxPolicy, as a builtin permissions profile.
var (
	modeNames       = [...]string{"read-only", "workspace-write", "danger-full-access"}
	typeNames       = [...]string{"readOnly", "workspaceWrite", "dangerFullAccess"}
	builtinProfiles = [...]string{":read-only", ":workspace", ":danger-full-access"}
)

func (l level) String() string { return modeNames[l] }

// levelOf is the level of a mode.
func parseMode(mode string) (level, bool) {
	for i, name := range modeNames {
		if mode == name {
			return level(i), true
		}
	}
	return readOnly, false
}

// profileLevel is the level of a builtin profile. Names that begin with a colon
// are reserved for those (measured), so that a configuration can't redefine one.
// What a profile of the user's own allows can't be seen from here.
func builtinProfileLevel(id string) (level, bool) {
	for i, name := range builtinProfiles {
		if id == name {
			return level(i), true
		}
	}
	return readOnly, false
}

// named finds the name in names that v is, exactly. Measured: codex also takes
// {"danger-full-access": null} for the string.
func levelNamed(v rpc.Value, names []string) (level, bool) {
	for i, name := range names {
		if v.Is(name) {
			return level(i), true
		}
	}
	return readOnly, false
}
