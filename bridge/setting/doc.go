// Package setting has the values of a thread's settings: approval policy, reviewer, sandbox,
// service tier, model provider and reasoning effort. It accepts other spellings of them. It also
// finds the values for a preset, an exec policy and the requirements of the machine.
//
// All results are values that Codex accepts (measured with 0.169.0). The policy decides elsewhere
// whether they are allowed. The functions are pure.
package setting
