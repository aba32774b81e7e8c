package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// A folder that the bridge adds to a thread/start has an entry in the overlay, so that Codex does not trust its
// project: the level of Codex's configuration, or else untrusted. A read-only thread needs none.
func TestWithoutTrust(t *testing.T) {
	const distrusted = `{"/code/proj/sub":{"trust_level":"untrusted"},"/code/proj":{"trust_level":"untrusted"},"/code":{"trust_level":"untrusted"},"/":{"trust_level":"untrusted"}}`
	const trusts = `{"/code/proj/sub":{"trust_level":"trusted"}}`
	for name, test := range map[string]struct {
		params   string // beside cwd
		defaults policy.Defaults
		want     string // the overlay's projects
		approval string
	}{
		"read-only by default":       {`"model":null`, policy.Defaults{}, ``, ``},
		"read-only by configuration": {`"model":null`, policy.Defaults{Sandbox: "read-only"}, ``, ``},
		"read-only by the request":   {`"sandbox":"read-only"`, policy.Defaults{Sandbox: "workspace-write"}, ``, ``},
		"sandbox":                    {`"sandbox":"workspace-write"`, policy.Defaults{}, distrusted, "on-request"},
		"profile":                    {`"permissions":":read-only"`, policy.Defaults{}, distrusted, "on-request"},
		"overlay":                    {`"config":{"sandbox_workspace_write.network_access":false}`, policy.Defaults{}, distrusted, "on-request"},
		"configuration":              {`"model":null`, policy.Defaults{Sandbox: "workspace-write"}, distrusted, "on-request"},
		"profile of configuration":   {`"model":null`, policy.Defaults{Permissions: "mine"}, distrusted, "on-request"},
		"approval of request":        {`"approvalPolicy":"never"`, policy.Defaults{Sandbox: "workspace-write"}, distrusted, "never"},
		"approval of overlay":        {`"config":{"approval_policy":"never"}`, policy.Defaults{Sandbox: "workspace-write"}, distrusted, ""},
		"approval of configuration":  {`"model":null`, policy.Defaults{Sandbox: "workspace-write", Approval: json.RawMessage(`"never"`)}, distrusted, ""},
		"trusted repository":         {`"sandbox":"workspace-write"`, policy.Defaults{Projects: policy.Projects{Own: map[string]bool{"/code/proj": true}}}, trusts, ""},
		"trusted by the machine":     {`"sandbox":"workspace-write"`, policy.Defaults{Projects: policy.Projects{Others: []string{"/code/proj"}}}, trusts, ""},
		"trusted by the overlay":     {`"config":{"projects":{"/code/proj/sub":{"trust_level":"trusted"}}}`, policy.Defaults{}, trusts, ""},
		"untrusted repository": {
			`"model":null`, policy.Defaults{Projects: policy.Projects{Own: map[string]bool{"/code/proj": false, "/code/proj/sub": true}}}, distrusted, "",
		},
		"another project of the overlay": {
			`"sandbox":"workspace-write","config":{"projects":{"/a":{"trust_level":"trusted"}}}`, policy.Defaults{},
			`{"/a":{"trust_level":"trusted"},` + strings.TrimPrefix(distrusted, "{"), "on-request",
		},
		"dotted overlay": {`"config":{"projects.x":{}}`, policy.Defaults{}, "refused", ""},
		"no object":      {`"config":[]`, policy.Defaults{}, "refused", ""},
	} {
		st := state()
		st.Defaults = &test.defaults
		line, err := policy.WithoutTrust(message(t, `{"id":1,"method":"thread/start","params":{`+test.params+`,"cwd":"/code/proj/sub"}}`), st)
		if err != nil {
			if test.want != "refused" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		params := message(t, string(line)).Params
		got := string(params.Get("config").Get("projects").Raw())
		if approval, _ := params.Get("approvalPolicy").Text(); got != test.want || approval != test.approval {
			t.Errorf("%s: projects are %s, want %s; the approval policy is %q, want %q", name, got, test.want, approval, test.approval)
		}
	}
}

// The record of a thread says that Codex alone would have trusted its project only if the client has named the folder.
func TestAddedFolderIsNotKnown(t *testing.T) {
	for _, added := range []bool{false, true} {
		cfg := contract()
		cfg.ProjectTrust = "user"
		st := withoutThread(state())
		st.FolderAdded = added
		d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj/sub","sandbox":"workspace-write","approvalPolicy":"on-request"}}`), st)
		if d.Sent == nil || d.Sent.Trusts == added {
			t.Errorf("added %t: the record is %+v, the error %v", added, d.Sent, d.Err)
		}
	}
}
