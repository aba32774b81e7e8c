// Package fleet sends the decision logs of many bridges to one place, the fleet log, and verifies it.
// The fleet log is a PostgreSQL database, or an endpoint for OTLP logs.
//
// Each local log is a chain of hashes with a random id. A [Shipper] sends its entries in batches. An
// entry that the fleet log has not acknowledged stays in the local log, and is sent again after a
// failure, a crash or a restart. In PostgreSQL each entry is there once: the database compares an entry
// that comes again, and refuses another one with its number. An OTLP endpoint may get an entry twice;
// chain and seq identify it.
//
// [Verify] checks all chains, from the database or an export of it. A [Checkpoint] has their heads and
// one hash over all of them, and shows later whether the end of a chain was cut off, or a chain
// rewritten.
package fleet
