// Package store keeps the state of the bridge: the log of decisions, remembered approvals, the
// threads and leases of sessions, and transcripts. No other package writes state. The database is
// SQLite in the state folder, or a PostgreSQL that several machines share.
//
// Promises. A decision or grant that was acknowledged is on disk: it survives kill -9 of any process
// and a loss of power. In PostgreSQL, others may read it a moment before it is on disk.
// The decisions of all processes that share a database form one chain of hashes;
// Verify finds a decision that was changed, deleted, inserted or moved. Only the owner can access
// the folder and its files; Open returns an error if other users can read or replace them. No
// error shows the password of a database.
//
// No promises. A user with write access to the database can delete the end of the log or rewrite
// all of it: see Verify. On Windows the package does not check the access list of the folder, which
// is inherited from the user's local application data. SQLite does not work on a network file
// system that lacks shared memory between machines; use PostgreSQL there.
//
// A Store may be used concurrently, and a database by several processes.
package store
