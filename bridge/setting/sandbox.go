package setting

import (
	"fmt"
	"slices"
)

// The sandbox modes of a thread, from the narrowest to the widest.
const (
	ReadOnly         = "read-only"
	WorkspaceWrite   = "workspace-write"
	DangerFullAccess = "danger-full-access"
)

// Sandboxes are the modes, from the narrowest to the widest.
var Sandboxes = [...]string{ReadOnly, WorkspaceWrite, DangerFullAccess}

// IsSandbox tells whether a word is a sandbox mode.
func IsSandbox(word string) bool { return slices.Contains(Sandboxes[:], word) }

// The types of the sandbox of a turn.
const (
	readOnly         = "readOnly"
	workspaceWrite   = "workspaceWrite"
	dangerFullAccess = "dangerFullAccess"
)

// ThreadSandbox is the mode of a thread whose turns have a sandbox of that type; "" there is
// none.
func ThreadSandbox(kind string) string {
	return map[string]string{readOnly: ReadOnly, workspaceWrite: WorkspaceWrite, dangerFullAccess: DangerFullAccess}[kind]
}

// SandboxPolicy is the sandbox of one turn, which is an object where a thread's is a word.
type SandboxPolicy struct {
	Type                string   `json:"type"`
	WritableRoots       []string `json:"writableRoots,omitempty"`
	NetworkAccess       *bool    `json:"networkAccess,omitempty"`
	ExcludeTmpdirEnvVar *bool    `json:"excludeTmpdirEnvVar,omitempty"`
	ExcludeSlashTmp     *bool    `json:"excludeSlashTmp,omitempty"`
}

// TurnSandbox is a thread's mode as the sandbox of a turn in the folder cwd: no network,
// and writable is that folder alone.
func TurnSandbox(mode, cwd string) (SandboxPolicy, error) {
	no := new(bool)
	switch mode {
	case DangerFullAccess:
		return SandboxPolicy{Type: dangerFullAccess}, nil
	case ReadOnly:
		return SandboxPolicy{Type: readOnly, NetworkAccess: no}, nil
	case WorkspaceWrite:
		if cwd == "" {
			return SandboxPolicy{}, fmt.Errorf("the sandbox %s needs a folder", mode)
		}
		return SandboxPolicy{
			Type: workspaceWrite, WritableRoots: []string{cwd},
			NetworkAccess: no, ExcludeTmpdirEnvVar: no, ExcludeSlashTmp: no,
		}, nil
	}
	return SandboxPolicy{}, fmt.Errorf("%q is not a sandbox mode; write read-only, workspace-write or danger-full-access", mode)
}
