package assembly

import (
	"time"

	"codex-bridge.example/cmd/internal/core"
)

const (
	// EndGrace is how long a bridge takes at most to end after its Codex: agents are its slowest workers.
	EndGrace = AgentsGrace + recordersGrace + 2*core.KillGrace + core.StateGrace
	// recordersGrace is how long a recorder, such as the telemetry, may delay the end of the bridge.
	recordersGrace = 2 * time.Second
	// turnsGrace is how long turns that the client has left may take to end.
	turnsGrace = 2 * time.Second
)
