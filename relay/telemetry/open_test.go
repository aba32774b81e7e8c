package telemetry

import (
	"context"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"
)

// Turns and items without an end do not keep later ones from being exported.
func TestOldestSpanIsAbandonedAtTheLimit(t *testing.T) {
	server := httptest.NewServer(nil)
	client, err := NewCollector(server.URL, nil)
	server.Close() // no collector listens
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	one, err := New(Options{Collector: client, Service: "s", Now: func() time.Time {
		now = now.Add(time.Second)
		return now
	}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range maxOpen + 3 {
		one.startSpan(strconv.Itoa(n), "", "tool", n == 0)
	}
	if len(one.open) != maxOpen {
		t.Errorf("%d are open", len(one.open))
	}
	if _, ok := one.endSpan("2", "completed"); ok {
		t.Error("the oldest is not the one that is given up")
	}
	if took, ok := one.endSpan(strconv.Itoa(maxOpen+2), "completed"); !ok || took != time.Second {
		t.Errorf("the newest took %v, %v", took, ok)
	}
	if err := one.Close(context.Background()); err == nil {
		t.Error("somebody has heard it")
	}
	if len(one.open) != 0 {
		t.Errorf("%d are left", len(one.open))
	}
}
