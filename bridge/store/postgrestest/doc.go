// Package postgrestest runs a PostgreSQL of its own for tests: the one of the
// lock file in testdata/npm, which exists for linux/amd64. A Server may be used
// by several goroutines.
package postgrestest
