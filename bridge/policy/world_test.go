package policy_test

import (
	"slices"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/policytest"
	"codex-bridge.example/rpc"
)

type (
	links        = policytest.Links
	repositories = policytest.Repositories
	tester       = policytest.TB
)

var disk = policytest.Disk

func contract() config.Policy { return policytest.Contract() }

func compile(t tester, cfg config.Policy) *policy.Policy {
	t.Helper()
	return policytest.Compile(t, cfg)
}

func message(t testing.TB, line string) *rpc.Message {
	t.Helper()
	return policytest.Message(t, line)
}

func state() policy.State { return policytest.State() }

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
