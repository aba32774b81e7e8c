// Package noise makes what no schema knows: notifications, requests and members with names
// that begin with Prefix, at random, by a seed. A codex of tomorrow says such things, and so does an
// editor; the end-to-end tests have them said in every conversation.
//
// It promises that Strip takes the members out again, byte for byte, and that nothing in
// objects whose members are somebody's data (arguments of tools, schemas, configuration) is touched:
// there an unknown name means something.
//
// It is no fuzzer: each line stays what it was to who ignores what it does not know.
//
// A Source is for one goroutine; a Client is safe for concurrent use.
package noise
