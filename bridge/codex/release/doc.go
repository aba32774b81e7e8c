// Package release describes a release of Codex: its methods and types, features, flags, models, tools and keys of
// config.toml. It gets them from the program itself, without the network.
//
// All functions may be called concurrently.
package release
