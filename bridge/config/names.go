package config

import "slices"

// ReservedNamespace tells whether Codex keeps a namespace of tools for itself and refuses
// it (measured with 0.169.0).
func ReservedNamespace(s string) bool { return slices.Contains(reservedNamespaces, s) }
