// Package acp has agents that speak the Agent Client Protocol work beside the conversation:
// each a child of the bridge, with a session and a line of turns of its own.
//
// It promises that a spawn has one outcome, with a reason; that of a spawn that fails
// nothing is left; that what an agent asks leave for is decided by the policy's rules and
// then by a person, and is refused where there is neither; and that an agent ends with what
// it has started, when its work is done, when it is cancelled, and with the bridge. It does
// not promise that an agent asks: one that is not a Codex behind the bridge is a program of
// the user's, and runs as such.
//
// Check and Spawn decide and do nothing by themselves; Agents does it. An Agents and a
// Feature may be used by several goroutines.
package acp
