//go:build unix

package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each test of vectors fails without the part of the program that it tests: a feature, the user at
// the terminal, the recorder of traces, or a command.
func TestVectorsNeedTheirFeature(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	features := map[string]string{
		"TestConversationBindingVectors":      "*turns.Feature",
		"TestConversationInputVectors":        "*turns.Feature",
		"TestElicitationVectors":              "*approvals.Feature",
		"TestProjectionLimitsVectors":         "*turns.Feature",
		"TestProviderVectors":                 "*threads.Feature",
		"TestReasoningEffortVectors":          "*turns.Feature",
		"TestRequestUserInputVectors":         "*turns.Feature",
		"TestDisplayTextVectors":              "*turns.Feature",
		"TestSandboxPolicyVectors":            "*turns.Feature",
		"TestApprovalVectorsDecisions":        "*follow.Person",
		"TestApprovalVectorsMatrix":           "*follow.Person",
		"TestApprovalVectorsCases":            "*follow.Person",
		"TestSteeringVectors":                 "*turns.Feature",
		"TestThreadDecisionVectors":           "*threads.Feature",
		"TestPolicyFingerprintVectors":        "*threads.Feature",
		"TestConfigMergeVectors":              "*threads.Feature",
		"TestUserMCPPatchVectors":             "*threads.Feature",
		"TestDynamicToolsFingerprintVectors":  "*threads.Feature",
		"TestDynamicToolsVectorsCases":        "*host.Feature",
		"TestDynamicToolsVectorsCallTimeouts": "*host.Feature",
		"TestDynamicToolsVectorsWatchdog":     "*host.Feature",
		"TestDynamicToolsVectorsSpecs":        "*host.Feature",
		"TestImageWorkerVectors":              "*image.Feature",
		"TestNobodyVectors":                   "*image.Feature",
		"TestHookConfigVectorsCases":          "*inject.Feature",
		"TestHookConfigVectorsEvents":         "*inject.Feature",
		"TestHookRelayVectorsCases":           "*inject.Feature",
		"TestHookRelayVectorsCLI":             "*inject.Feature",
		"TestHookRelayVectorsUnavailable":     "hook",
		"TestSpawnVectors":                    "*assembly.agents",
		"TestParentStreamVectors":             "*assembly.agents",
		"TestAppServerRuntimeOptionsVectors":  "*guard.Guard",
		"TestExecPolicyVectors":               "*guard.Guard",
		"TestTrajectoryVectors":               "*trace.Recorder",
		"TestVersionVectors":                  "doctor",
		"TestEnvironVectors":                  "exec",
		"TestClearVectors":                    "*threads.Feature",
		"TestSessionBindingVectors":           "threads import",
		"TestTurnCollectorVectors":            "*turns.Feature",
	}
	for _, test := range vectorTests(t) {
		feature := features[test]
		if feature == "" {
			t.Errorf("%s has no part in the list", test)
			continue
		}
		delete(features, test)
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(self, "-test.run=^"+test+"$", "-test.count=1", "-test.failfast")
			cmd.Env = append(os.Environ(), withoutFeature+"="+feature)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: "+test) {
				t.Errorf("the test passes without %s: %v\n%s", feature, err, out)
			}
		})
	}
	for test := range features {
		t.Errorf("no test %s", test)
	}
}

// vectorTests returns the names of all tests of vectors. Tests in other packages are an error,
// except for those that no program can run; see DEVIATIONS.md.
func vectorTests(t *testing.T) (all []string) {
	t.Helper()
	elsewhere := []string{"TestHookRelayVectorsFingerprints", "TestVectorsAreLines"} // the second is about argument vectors
	name := regexp.MustCompile(`(?m)^func (Test\w*Vectors\w*)\(`)
	own, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"bridge", "cmd", "lifecycle", "relay", "rpc"} {
		err := filepath.WalkDir(filepath.Join(own, "..", "..", folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range name.FindAllStringSubmatch(string(text), -1) {
				switch {
				case m[1] == t.Name():
				case filepath.Dir(path) == own:
					all = append(all, m[1])
				case !slices.Contains(elsewhere, m[1]):
					t.Errorf("%s: %s does not drive the program", path, m[1])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}
