package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/toml"
)

// enforced compiles a section in TOML over the default one, under enforce.
func enforced(t *testing.T, text string) *Policy {
	t.Helper()
	cfg := config.Default().Policy
	if err := toml.Decode("mode = \"enforce\"\n"+text, &cfg); err != nil {
		t.Fatal(err)
	}
	p, err := New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Each of two policies that decide together requires the stricter value of each key. A list without
// a common value stays that of each policy.
func TestStrictest(t *testing.T) {
	describe := func(p *Policy) string {
		return fmt.Sprint("sandbox=", p.maxLevel, " network=", p.network, " granular=", p.granular, " gate=", p.gate, " approval=", p.approvals, " reviewers=", p.reviewers,
			" efforts=", p.efforts, " trust=", p.trust, " pins=", len(p.pins), " protected=", p.protected, " writes=", p.letsWrite(), " ")
	}
	for _, test := range []struct{ first, second, want, wantSecond string }{
		{`sandbox = "workspace-write"`, `sandbox = "read-only"`, "sandbox=read-only", ""},
		{`network = true`, `network = false`, "network=false", ""},
		{`network = true`, `network = true`, "network=true", ""},
		{`gate = true`, `gate = false`, "gate=true", ""},
		{`gate = false`, `gate = false`, "gate=false", ""},
		{`approval = ["granular", "untrusted"]`, `approval = ["untrusted"]`, "granular=false", ""},
		{`approval = ["granular", "untrusted"]`, `approval = ["untrusted", "granular"]`, "granular=true", ""},
		{`approval = ["never", "on-request", "untrusted"]`, `approval = ["untrusted", "on-request"]`, "approval=[on-request untrusted]", ""},
		{`approval = ["untrusted"]`, `approval = ["never"]`, "approval=[untrusted]", "approval=[never]"},
		{`reviewers = ["auto_review", "user"]`, `reviewers = ["user"]`, "reviewers=[user]", ""},
		{`reviewers = ["auto_review", "user"]`, `reviewers = ["user", "auto_review"]`, "reviewers=[auto_review user]", ""},
		{``, ``, "efforts=[]", ""},
		{``, `efforts = ["low"]`, "efforts=[low]", ""},
		{`efforts = ["high", "low", "medium"]`, `efforts = ["low", "high"]`, "efforts=[high low]", ""},
		{`efforts = ["low"]`, `efforts = ["high"]`, "efforts=[low]", "efforts=[high]"},
		{`project_trust = "codex"`, `project_trust = "user"`, "trust=user", ""},
		{`project_trust = "user"`, `project_trust = "never"`, "trust=never", ""},
		{`config_keys = ["features.skill_mcp_dependency_install"]`, ``, "pins=1", ""},
		{``, ``, "pins=1", ""},
		{`config_keys = ["features.skill_mcp_dependency_install"]`, `config_keys = ["features.skill_mcp_dependency_install"]`, "pins=0", ""},
		{`protected_paths = [".a", ".b"]`, `protected_paths = [".b", ".c"]`, "protected=[[.a] [.b] [.c]]", "protected=[[.b] [.c] [.a]]"},
		{`sandbox = "read-only"`, `sandbox = "workspace-write"`, "writes=true", ""}, // so that both define the profile
		{`sandbox = "workspace-write"`, `sandbox = "workspace-write"`, "writes=true", ""},
		{`sandbox = "read-only"`, `sandbox = "read-only"`, "writes=false", ""},
	} {
		with := []*Policy{enforced(t, test.first), enforced(t, test.second)}
		if got := describe(with[0].strictest(with)); !strings.Contains(got, test.want+" ") {
			t.Errorf("%s beside %s: %s, want %s", test.first, test.second, got, test.want)
		}
		if test.wantSecond == "" {
			test.wantSecond = test.want
		}
		if got := describe(with[1].strictest(with)); !strings.Contains(got, test.wantSecond+" ") {
			t.Errorf("%s beside %s: %s, want %s", test.second, test.first, got, test.wantSecond)
		}
		if p := with[0]; p.strictest(nil) != p {
			t.Errorf("%s alone is not itself", test.first)
		}
	}
	one := []*Policy{enforced(t, ``), enforced(t, `efforts = ["low", "high"]`), enforced(t, `efforts = ["high", "low"]`)}
	for _, p := range one {
		if got := p.strictest(one).efforts; !slices.Equal(got, []string{"low", "high"}) {
			t.Errorf("the order of efforts is %q, not that of the first policy with efforts", got)
		}
	}
}

// A folder counts under two policies if each of them has it, or a folder above it.
func TestIntersectFolders(t *testing.T) {
	for _, test := range []struct{ a, b, want string }{
		{"/a", "/a", "/a"},
		{"/a", "/b", ""},
		{"/a", "", ""},
		{"/a", "/a/b", "/a/b"},
		{"/a/b", "/a", "/a/b"},
		{"/a", "/ab", ""},
		{"/a /b", "/b /a", "/a /b"},
		{"/a /b", "/a/x /b/y /c", "/a/x /b/y"},
		{"/a /a/b", "/a/b/c", "/a/b/c"},
		{"/a", "/a/.git", ""}, // a sandbox does not let it be written
		{"/a/.git", "/a/.git", "/a/.git"},
	} {
		if got := intersectFolders(strings.Fields(test.a), strings.Fields(test.b)); strings.Join(got, " ") != test.want {
			t.Errorf("%s and %s: %q, want %s", test.a, test.b, got, test.want)
		}
	}
}
