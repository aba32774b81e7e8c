// Package setting has the values of a thread's settings: approval policy, reviewer, sandbox, service tier, model provider
// and reasoning effort. It reads other spellings of them, and finds the values for a preset, an exec policy and the
// machine's requirements.
//
// It returns only values that Codex accepts (measured with 0.169.0). Whether the policy allows a value is decided
// elsewhere. The functions are pure, and several goroutines may call them.
package setting
