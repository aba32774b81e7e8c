// Package store keeps the state of the bridge: the log of decisions, the
// approvals that are remembered, and which thread a session has and which process
// writes it. It is the only package that writes state: to
// SQLite in the state folder, or to a PostgreSQL that several machines share.
//
// Promises. What Append has acknowledged is on disk and survives a kill -9 of
// any party and the loss of power. The decisions of all processes that share a
// database form one chain of hashes; Verify finds a decision that was changed,
// taken out, put in or moved. The folder and its files are their owner's alone;
// where somebody else could read or replace them, Open refuses. No error shows
// the password of a database.
//
// No promises. Who may write the database can cut off the end of the log, or
// write all of it anew: see Verify. On Windows nobody looks at the access
// lists of the folder; it lies in the user's own local application data, whose
// list it inherits. A folder on a network file system that lacks shared memory
// between machines is not for SQLite; use PostgreSQL.
//
// A Store may be used by several goroutines, a database by several processes.
package store
