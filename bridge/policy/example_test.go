package policy_test

import (
	"fmt"
	"path/filepath"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// examplePaths is a file system without links.
type examplePaths struct{}

func (examplePaths) Canonical(path string) (string, error) { return path, nil }
func (examplePaths) Follow(path string) (string, error)    { return path, nil }
func (examplePaths) Readings(path string) ([]string, error) {
	return []string{filepath.Clean(path)}, nil
}

// A thread that requests full access gets the policy's sandbox. A method that writes files outside
// the sandbox is refused.
func ExamplePolicy_Decide() {
	cfg := config.Default().Policy
	cfg.Mode, cfg.Sandbox, cfg.ProjectTrust = config.Enforce, "read-only", "codex"
	p, err := policy.New(cfg, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	state := policy.State{StartFolder: "/project", Paths: examplePaths{}, Defaults: &policy.Defaults{}}
	for _, line := range []string{
		`{"id":1,"method":"thread/start","params":{"cwd":"/project","approvalPolicy":"untrusted","approvalsReviewer":"user","sandbox":"danger-full-access"}}`,
		`{"id":2,"method":"fs/writeFile","params":{"path":"/etc/passwd","dataBase64":""}}`,
	} {
		m, err := rpc.ParseMessage([]byte(line))
		if err != nil {
			fmt.Println(err)
			return
		}
		d := p.Decide(m, state)
		fmt.Println(m.Method+":", d.Verdict)
		for _, c := range d.Changes {
			fmt.Println(" ", c.Field, c.Rule)
		}
	}
	// Output:
	// thread/start: rewrite
	//   params.approvalPolicy policy.gate
	//   params.sandbox policy.sandbox
	// fs/writeFile: deny
}
