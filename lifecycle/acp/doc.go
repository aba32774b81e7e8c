// Package acp runs agents that speak the Agent Client Protocol. Each agent is a child process of the
// bridge, with its own session and its own queue of turns.
//
// The package promises:
//   - A spawn has one outcome, with a reason. A spawn that fails leaves nothing behind.
//   - A permission request of an agent is decided by the policy's rules and then by a person.
//     It is refused if neither is available.
//   - An agent ends, with everything it started, when its work is done, when it is cancelled,
//     and when the bridge ends.
//
// It does not promise that an agent asks for permission: an agent that is not a Codex behind the
// bridge is a program of the user and runs without the bridge's policy.
//
// Check and Spawn decide and have no effects; Agents has the effects. Several goroutines may use an
// Agents, a Feature and a Judge.
package acp
