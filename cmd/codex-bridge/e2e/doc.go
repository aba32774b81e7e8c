// Package e2e has the end-to-end tests: they run the real Codex and the built codex-bridge with a
// scripted model, and compare them.
//
// The tests need the npm packages under testdata/npm (`make setup`) and the editors (`make
// editors`). They fail without them; no test is skipped. They reach no other machine, and do not
// use the user's configuration of Codex or codex-bridge.
//
// They read /proc, so they run only on Linux.
//
// CODEX_BRIDGE_E2E_KEEP is a folder for the compared transcripts.
//
// CODEX_BRIDGE_E2E_NEOVIM is another Neovim than that of `make editors`.
//
// CODEX_BRIDGE_NOISE_SEED is the seed of the noise in every conversation
// (docs/internals/reliability.md); 0: no noise, random: a new seed each time.
//
// CODEX_BRIDGE_E2E_RACE builds codex-bridge with the race detector, which exits at the first race.
//
// CODEX_BRIDGE_SOAK and CODEX_BRIDGE_SOAK_TURNS are the minimum time and turns of TestSoak (`make
// soak`).
//
// CODEX_BRIDGE_E2E_PROXY is a program to test instead of a new build of codex-bridge. With codex
// itself, `-run 'ACP$|Transparent$|Endings|Commands'` shows that the comparisons hold between two
// runs of Codex.
package e2e
