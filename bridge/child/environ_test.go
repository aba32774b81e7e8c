package child_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/child"
)

func TestEnviron(t *testing.T) {
	base := []string{"PATH=/bin", "LC_TIME=C", "CODEX_HOME=/c", "CODEX_BRIDGE_STATE=/s", "OPENAI_API_KEY=k", "LANG=C=D", "PATHS=x", "odd"}
	if diff := cmp.Diff([]string{"PATH=/bin", "LC_TIME=C", "LANG=C=D"}, child.Environ(base)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"PATH=/bin", "LC_TIME=C", "CODEX_HOME=/c", "LANG=C=D"}, child.Environ(base, "CODEX_HOME")); diff != "" {
		t.Error(diff)
	}
	if got := child.Environ(nil); got == nil || len(got) != 0 {
		t.Errorf("%#v: os/exec takes nil for the bridge's own environment", got)
	}
}
