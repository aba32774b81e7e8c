package methods

import _ "embed"

// Schema has the names of the methods of Codex Measured, and of the members of their params, as
// package codex writes them. The caller must not change it.
//
//go:embed schema.json
var Schema []byte
