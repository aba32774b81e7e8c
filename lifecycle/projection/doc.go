// Package projection decides how much of a conversation a thread is told when it starts,
// and writes that as text.
//
// Text is counted in characters, that is code points; tokens are what the model counts. It
// is pure and may be used by several goroutines.
package projection
