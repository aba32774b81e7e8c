package bridge

import (
	"strings"
	"testing"
)

type staged Stage

func (staged) Routes() []Route { return nil }

func (s staged) Stage() Stage { return Stage(s) }

// A feature that would see messages before the guard, or after what records them, is refused.
func TestStagesAreInOrder(t *testing.T) {
	if _, err := NewProxy(Options{Features: []Feature{staged(BeforeGuard), staged(BeforeGuard), staged(Guarding), staged(AfterGuard), staged(Last)}}); err != nil {
		t.Error(err)
	}
	for _, wrong := range [][2]Stage{{Guarding, BeforeGuard}, {AfterGuard, Guarding}, {Last, AfterGuard}} {
		_, err := NewProxy(Options{Features: []Feature{staged(wrong[0]), staged(wrong[1])}})
		if err == nil || !strings.Contains(err.Error(), "("+wrong[1].String()+") comes after") {
			t.Errorf("%s before %s: %v", wrong[0], wrong[1], err)
		}
	}
}
