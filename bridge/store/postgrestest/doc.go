// Package postgrestest runs a PostgreSQL server for tests on Linux: the one that
// CODEX_BRIDGE_POSTGRES names, else the newest of Debian, else the one on PATH. Each server ends
// with the test process. It must not be linked into the product. A Server may be used concurrently.
package postgrestest
