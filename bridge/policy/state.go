package policy

import (
	"fmt"

	"codex-bridge/rpc"
)

// Paths is the only way to the file system.
type Paths interface {
	// Canonical is the absolute path with all symbolic links resolved; for a path
	// that does not exist yet, its longest existing prefix is resolved and the
	// rest appended. On a file system that ignores case it is the one spelling
	// that the system itself gives. path is absolute and may hold . and ..
	Canonical(path string) (string, error)
}

// State is what the world looks like when a message is decided.
type State struct {
	// Start is the canonical folder the bridge was started in: codex's own, the
	// workspace of a thread that names none, the base of relative paths.
	Start string
	// Home is the user's home, canonical; "" unknown.
	Home string
	// Temp is the system's temporary folder ($TMPDIR), canonical; "" unknown.
	// Codex may write there beside /tmp.
	Temp string
	// Thread is the verified thread that the message speaks of; nil when there is
	// none. A change of policy makes every thread unverified.
	Thread *Thread
	// Defaults is what codex's own configuration gives for fields left out; nil =
	// unknown. Only thread/start insists on it; resume and fork use it when it is
	// there.
	Defaults *Defaults
	Paths    Paths
}

// Thread is a thread whose echoed policy was verified.
type Thread struct {
	ID string
	// Workspace is the canonical cwd that thread/start gave it. It stays when a
	// turn moves the cwd.
	Workspace string
	// Sandbox is the mode that Codex last said is in force; "" unknown. A resume
	// or fork that leaves it out gets no more than this where codex's own default
	// is not allowed.
	Sandbox string
}

// ThreadOf is the thread of an answer that Verify found right.
func ThreadOf(sent *Sent, result rpc.Value, st State) (*Thread, error) {
	id, _ := result.Get("thread").Get("id").Text()
	text, _ := result.Get("cwd").Text()
	folder, err := st.canonical(text)
	if id == "" || err != nil {
		return nil, fmt.Errorf("the answer has no thread.id, or no cwd that can be judged")
	}
	if sent != nil && sent.Within != "" {
		// A turn had moved the cwd of a thread that was known before.
		folder = sent.Within
	}
	return &Thread{ID: id, Workspace: folder, Sandbox: SandboxMode(result.Get("sandbox"))}, nil
}

// SandboxMode is the mode of an echoed sandbox or sandboxPolicy: what
// Thread.Sandbox holds.
func SandboxMode(sandbox rpc.Value) string {
	e := echo{sandbox: sandbox}
	return e.level().String()
}
