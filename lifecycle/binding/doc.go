// Package binding is the record of which Codex thread a conversation belongs to, with what
// the thread was started with, and its form as a file beside the conversation's own.
//
// Reading is lenient, value by value: one that can't be what it should be is dropped and
// named, and the rest counts. A text that is no record, is one of another version or has
// no thread is no binding; what becomes of it is the caller's. What has been read and is
// written again reads the same.
//
// The package reads and writes no file and no clock. All of it may be used by several
// goroutines.
package binding
