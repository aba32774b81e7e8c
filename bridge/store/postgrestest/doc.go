// Package postgrestest runs a PostgreSQL of its own for tests, and only as long as they
// run: the one that CODEX_BRIDGE_POSTGRES names, else the newest of Debian's, else the
// one on PATH. It exists for Linux. A Server may be used by several goroutines.
package postgrestest
