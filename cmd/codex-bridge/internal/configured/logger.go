package configured

import (
	"io"
	"log/slog"
	"os"

	"codex-bridge.example/bridge/config"
)

// Logger returns a logger that writes to stderr, because stdout carries the protocol. It
// logs warnings and errors unless CODEX_BRIDGE_LOG sets another level, and redacts secrets.
func Logger(cfg *config.Config) *slog.Logger { return LoggerTo(os.Stderr, cfg) }

// LoggerTo is Logger for another writer.
func LoggerTo(w io.Writer, cfg *config.Config) *slog.Logger { return Setup.Logger(w, cfg) }
