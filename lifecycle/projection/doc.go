// Package projection decides how much history the first turn of a new thread contains, and writes that
// history as text.
//
// Text is counted in characters, that is code points; tokens are what the model counts. It
// is pure and may be used by several goroutines.
package projection
