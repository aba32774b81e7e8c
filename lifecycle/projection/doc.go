// Package projection says how much of a conversation a thread is told when it starts, how
// that is written, and when a thread has grown too large to be gone on with.
//
// Text is counted in characters, that is code points; tokens are what the model counts. It
// is pure and may be used by several goroutines.
package projection
