// Package replay decides again about calls, program starts and requests of Codex that the decision log has.
//
// Facts are what a decision depended on. A Case is made of them, and Recompute decides about it by another policy,
// with the functions that decide in the proxy. Where the effect depends on a fact that the record lacks, it is unknown.
package replay
