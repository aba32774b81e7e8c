// Package policy decides which messages of a client Codex gets. Policy.Decide takes a strictly
// parsed message and passes, rewrites or denies it. Policy.DecideArgs decides the arguments of Codex.
//
// Packages below it decide by the same compiled Policy: toolcall about tool calls and program starts, serverrequest about
// Codex's requests and the client's answers, and reported about the settings that Codex reports. Package replay decides
// again about what the log has.
//
// The package is pure: it has no clock, goroutine or file access. State has the facts that a
// decision depends on, and the interface Paths resolves paths. A Policy is immutable and safe for
// concurrent use.
//
// The package guarantees that:
//
//   - a passed or rewritten message requests nothing beyond the policy, in any form that Codex
//     0.169.0 reads;
//   - a second decision about the result changes nothing;
//   - a message of an unknown form is denied.
//
// It does not know a thread's settings from before the bridge, which package reported checks, or the effect
// of a command, which rules and approvals limit. Package methods has the verdicts for methods;
// methodTable has the fields that this package checks.
//
// fieldRules has the rules for the fields of a client's requests, in their order. Each is a function of the
// request and of what rules above it have found, and returns what it finds.
//
// docs/reference/policy.md has the rules. Facts about Codex are beside the code that depends on
// them, marked "Measured".
package policy
