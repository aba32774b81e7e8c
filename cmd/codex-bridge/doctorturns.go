package main

import (
	"fmt"
	"time"

	"codex-bridge/bridge/config"
)

// examineTurns reports what the bridge does with messages that arrive during a turn.
func examineTurns(cfg *config.Config) finding {
	does := map[string]string{
		"steer": "join it", "followup": "start one after it, together", "queue": "start one after it, each of its own", "interrupt": "end it, and start one",
	}[cfg.Steering.Mode]
	detail := fmt.Sprintf("messages that arrive during a turn %s, collected for %v (steering)", does, time.Duration(cfg.Steering.Quiet))
	return finding{"turns", fine, detail, ""}
}
