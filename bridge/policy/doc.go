// Package policy decides what a client may ask of Codex: it reads a strictly
// parsed message and says whether Codex gets it as it is, rewritten, or not at
// all, and afterwards whether the policy that Codex echoes is the one that was
// sent.
//
// It is pure: no file, no clock, no goroutine. What it has to know of the world
// comes in a State; the file system is seen through the interface Paths only.
// A Policy is immutable and may be used by any number of goroutines.
//
// What it promises: a message that Decide passed or rewrote asks for nothing
// beyond the policy, in any spelling that codex 0.169.0 takes; a decision on its
// own output changes nothing; what Decide could not judge, it refused.
//
// What it does not: it does not know what a thread was told before the bridge
// saw it (Verify does), nor what a command will do (rules and approvals do), and
// it judges six methods. Every other one passes; the table of methods is the
// place for more.
//
// The rules stand in docs/reference/policy.md, the measured facts of codex beside the code
// that leans on them.
package policy
