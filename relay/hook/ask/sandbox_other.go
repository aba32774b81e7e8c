//go:build unix && (!linux || portable) && !loopback

package ask

// CheckPeerOutsideSandbox returns nil: Seatbelt, Codex's sandbox on macOS, has no PID
// namespaces.
func CheckPeerOutsideSandbox(int) error { return nil }
