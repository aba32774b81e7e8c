package releasediff

import (
	"testing"

	"codex-bridge/bridge/bridgetest"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }
