//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Each test of vectors fails without the feature that it is about: it drives the program, and not a copy of
// what the program does.
func TestVectorsNeedTheirFeature(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for test, feature := range map[string]string{
		"TestConversationBindingVectors":      "*turns.Feature",
		"TestConversationInputVectors":        "*turns.Feature",
		"TestElicitationVectors":              "*approvals.Feature",
		"TestProjectionLimitsVectors":         "*turns.Feature",
		"TestProviderVectors":                 "*threads.Feature",
		"TestReasoningEffortVectors":          "*turns.Feature",
		"TestRequestUserInputVectors":         "*turns.Feature",
		"TestDisplayTextVectors":              "*turns.Feature",
		"TestSandboxPolicyVectors":            "*turns.Feature",
		"TestApprovalVectorsCases":            "*guard.Guard",
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
		"TestImageWorkerVectors":              "*worker.Feature",
		"TestNobodyVectors":                   "*worker.Feature",
		"TestHookConfigVectorsCases":          "*inject.Feature",
		"TestHookConfigVectorsEvents":         "*inject.Feature",
		"TestHookRelayVectorsCases":           "*inject.Feature",
		"TestHookRelayVectorsCLI":             "*inject.Feature",
		"TestHookRelayVectorsUnavailable":     "hook",
		"TestSpawnVectors":                    "*main.agents",
		"TestParentStreamVectors":             "*main.agents",
		"TestAppServerRuntimeOptionsVectors":  "*guard.Guard",
		"TestExecPolicyVectors":               "*guard.Guard",
		"TestClearVectors":                    "*threads.Feature",
		"TestSessionBindingVectors":           "threads import",
		"TestTurnCollectorVectors":            "*turns.Feature",
	} {
		t.Run(test, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(self, "-test.run=^"+test+"$", "-test.count=1", "-test.failfast")
			cmd.Env = append(os.Environ(), withoutFeature+"="+feature)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "--- FAIL: "+test) {
				t.Errorf("it passes without %s: %v\n%s", feature, err, out)
			}
		})
	}
}
