// Package neovim runs a real Neovim the way a person has it: with a screen that is drawn
// and keys that are pressed. Tests and screenshots use it.
//
// A Neovim may be used by several goroutines. It waits for conditions, not for times: what
// never comes true ends with the context.
package neovim
