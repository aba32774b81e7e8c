package decisionlog

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/relay/fleet"
	"codex-bridge.example/relay/telemetry"
)

// FleetGrace is how long the fleet log may delay the end of the bridge.
const FleetGrace = 2 * time.Second

var errNoFleet = errors.New("fleet.url is not set; name the address of the fleet log there")

// NewSink returns the configured fleet log.
func NewSink(cfg *config.Config) (fleet.Sink, error) {
	switch address := cfg.Fleet.URL; {
	case address == "":
		return nil, errNoFleet
	case strings.HasPrefix(address, "http"):
		return fleet.NewEndpoint(address, telemetry.ParseHeaders(os.Getenv(configured.EnvLogsHeaders)), buildinfo.Version)
	default:
		return fleet.NewDatabase(address, "fleet.url")
	}
}

// Ship starts to send the decisions of this process, and those that earlier ones have left, to the fleet
// log, if there is one. Close ends it.
func (l *Log) Ship(cfg *config.Config, log *slog.Logger) {
	if cfg.Fleet.URL == "" {
		return
	}
	sink, err := NewSink(cfg)
	if err != nil {
		log.Warn("decisions can't be sent to the fleet log; they stay in the local log until they can", "error", err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	open := func(ctx context.Context) (fleet.Log, error) { return l.Existing(ctx) }
	l.shipper = fleet.Start(fleet.Options{Open: open, Sink: sink, Sender: fleet.ThisSender(), Log: log})
}

// Existing returns the state, or store.ErrNotExist. It creates none.
func (l *Log) Existing(ctx context.Context) (*store.Store, error) {
	folder, err := statefolder.Path()
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(folder, store.DatabaseFile)); err != nil {
		return nil, store.ErrNotExist
	}
	return l.Store(ctx)
}

// FleetState is what doctor and bridge/status say of the fleet log.
type FleetState struct {
	Location     string     `json:"location"`
	Acknowledged int64      `json:"acknowledged"`
	Waiting      int64      `json:"waiting"`
	Since        *time.Time `json:"since,omitempty"` // of the first that waits
	Error        string     `json:"error,omitempty"`
	Failed       *time.Time `json:"failed,omitempty"`
}

// ReadFleetState returns how far the decisions have reached the fleet log at a location.
func ReadFleetState(ctx context.Context, s *store.Store, location string) (FleetState, error) {
	state := FleetState{Location: location}
	shipping, err := s.Shipping(ctx, location)
	if err != nil {
		return state, err
	}
	state.Acknowledged, state.Error = shipping.Seq, shipping.Error
	if !shipping.Failed.IsZero() {
		state.Failed = &shipping.Failed
	}
	var since time.Time
	if state.Waiting, since, err = s.Waiting(ctx, shipping.Head); state.Waiting > 0 {
		state.Since = &since
	}
	return state, err
}
