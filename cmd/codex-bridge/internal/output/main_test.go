package output

import (
	"testing"

	"codex-bridge.example/bridge/bridgetest"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }
