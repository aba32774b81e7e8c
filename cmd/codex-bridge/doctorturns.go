package main

import (
	"fmt"
	"time"

	"codex-bridge/bridge/config"
)

// examineTurns tells what becomes of messages that come while a turn runs.
func examineTurns(cfg *config.Config) finding {
	does := map[string]string{
		"steer": "join it", "followup": "start one after it, together", "queue": "start one after it, each of its own", "interrupt": "end it, and start one",
	}[cfg.Steering.Mode]
	detail := fmt.Sprintf("messages that come during a turn %s, gathered for %v (steering)", does, time.Duration(cfg.Steering.Quiet))
	return finding{"turns", fine, detail, ""}
}
