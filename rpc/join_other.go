//go:build !linux

package rpc

import "io"

// Join makes of Codex's stdout and the client's the two ends for a Pump. Only
// Linux can pass bytes on without copying them; here they are what they were.
func Join(in io.Reader, out io.Writer) (io.Reader, io.Writer) { return in, out }
