// Package host puts the host's tools into a conversation: it adds them to what a
// thread/start offers, answers Codex's calls of them, and has a client that knows the
// bridge register tools of its own.
//
// It promises that the client hears of no call but those of its own tools; that each
// call that it does not hear of is answered, once; that a call ends with its turn, with
// the item that shows it, and with codex; and that threads are told when the host's tools
// are no longer those they were started with. Where the configuration has no tools, the
// client's bytes and codex's are left as they are.
//
// It does not judge a call: that is for those who are handed in as Before, and for the
// hooks of the thread. A Feature may be used by many goroutines at once.
package host
