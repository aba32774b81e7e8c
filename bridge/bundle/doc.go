// Package bundle gets and publishes signed bundles of policy: a repository of The Update Framework whose
// target policy.toml is a configuration file. A second target, codex-table.txt, may be a newer table of
// Codex's methods.
//
// A Client keeps the last verified bundle in a folder, with all metadata that verify it. It verifies them
// again each time it reads them, from the trusted root on, so a process that writes the folder can't invent a bundle.
// A pull that fails changes nothing. The library holds rollback, freeze and mix-and-match attacks.
//
// The age of a bundle counts from the last pull that found the repository's metadata valid, and not expired.
// Metadata that expire later stay valid offline; config.PolicySource.MaxAge bounds that.
//
// A Repository publishes: it signs, verifies what it has signed as a client would, and writes files in an order
// in which a client can read at any moment.
package bundle
