package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
)

// examineFleet says how many decisions wait for the fleet log. It does not connect.
func examineFleet(cfg *config.Config) []finding {
	if cfg.Fleet.URL == "" {
		return nil
	}
	sink, err := decisionlog.NewSink(cfg)
	if err != nil {
		return []finding{{"fleet log", Broken, problem.Text(err), "correct fleet.url; until then decisions stay in the local log"}}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	state := decisionlog.FleetState{Location: sink.Location()}
	s, err := decisionlog.OpenState(ctx, cfg, true)
	if err == nil {
		state, err = decisionlog.ReadFleetState(ctx, s, sink.Location())
		_ = s.Close()
	}
	if err != nil && !errors.Is(err, store.ErrNotExist) {
		return nil // examineState reports it
	}
	f := finding{"fleet log", Fine, fmt.Sprintf("%s has acknowledged %d decisions", state.Location, state.Acknowledged), ""}
	if state.Waiting > 0 {
		f.Detail += fmt.Sprintf("; %d wait, the first since %s", state.Waiting, state.Since.Format(time.RFC3339))
		f.Hint = `the next bridge sends them, or "codex-bridge decisions ship"`
	}
	if state.Error != "" {
		f.State = Warn
		f.Detail += fmt.Sprintf("; last error, at %s: %s", state.Failed.Format(time.RFC3339), state.Error)
	}
	return []finding{f}
}
