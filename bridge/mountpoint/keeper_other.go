//go:build !linux

package mountpoint

import (
	"context"
	"log/slog"
)

// Keeper does nothing: only Codex's sandbox on Linux needs mount points.
type Keeper struct{}

// New returns nil.
func New(string, *slog.Logger) *Keeper { return nil }

// Hold does nothing.
func (*Keeper) Hold(context.Context, string, string, []Folder) []string { return nil }

// Release does nothing.
func (*Keeper) Release(string, ...string) {}

// Close does nothing.
func (*Keeper) Close() {}
