// Package fingerprint tells whether what a thread was started with is still the same.
//
// A fingerprint is of a JSON text in its canonical form (RFC 8785), so that white space,
// the order of members, the spelling of numbers and escapes do not count; the order of
// arrays does. It begins with the version of this rule. A Digest tells nothing of the
// text, which may hold keys and tokens; a Text can be read. "" is the fingerprint of
// nothing at all.
//
// Same also takes the fingerprints that other implementations have written into records:
// the JSON text itself, or the bare hexadecimal SHA-256 of it. Whatever else it does not
// know is the same as its like only.
//
// All of it is pure and may be used by several goroutines.
package fingerprint
