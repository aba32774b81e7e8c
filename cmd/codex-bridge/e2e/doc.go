// Package e2e holds the end-to-end tests: they run the real codex and the built
// codex-bridge against a scripted model, and compare.
//
// They need the npm packages under testdata/npm (`make setup`), and the editors (`make editors`), and fail without
// them; nothing is skipped. Nothing leaves the machine, and the machine's own
// configuration of codex and codex-bridge plays no part.
//
// They look for processes in /proc, so they are built on Linux only.
//
// CODEX_BRIDGE_E2E_KEEP names a folder that takes what was compared.
//
// CODEX_BRIDGE_E2E_NEOVIM names a Neovim other than the one of `make editors`.
//
// CODEX_BRIDGE_NOISE_SEED is the seed of what is said beside the protocol in every conversation (docs/internals/reliability.md); 0: nothing, random: another each time.
//
// CODEX_BRIDGE_E2E_RACE has codex-bridge built with the race detector, which ends it at the first race.
//
// CODEX_BRIDGE_SOAK and CODEX_BRIDGE_SOAK_TURNS say how long TestSoak goes on, at least (`make soak`).
//
// CODEX_BRIDGE_E2E_PROXY names a program to test in place of a fresh build of
// codex-bridge. With codex itself there, `-run 'ACP$|Transparent$|Endings|Commands'`
// shows that the comparisons hold between two runs of codex.
package e2e
