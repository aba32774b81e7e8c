// Package steer takes messages for a thread in which a turn may be running, and sees to it
// that each of them reaches the model once, in the order in which they came.
//
// Messages are gathered until none has come for a while, and are then sent together, one
// request at a time: to the running turn, after it, or to a turn of their own. What the
// running turn does not take, because it is a review or a compaction, has just ended, or is
// interrupted before the model has been given it, goes to the next turn, before all that
// came later. A message waits behind those before it, whatever its mode; one that
// interrupts does not wait for the turn's end.
//
// A Box may be used by several goroutines. Run has to be running for anything to be sent.
package steer
