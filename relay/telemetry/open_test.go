package telemetry

import (
	"context"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"
)

// Turns and items whose end is never told do not keep those that come from being told of.
func TestUnended(t *testing.T) {
	server := httptest.NewServer(nil)
	client, err := NewCollector(server.URL, nil)
	server.Close() // nobody hears it
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	one, err := New(Options{Client: client, Service: "s", Now: func() time.Time {
		now = now.Add(time.Second)
		return now
	}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range mostOpen + 3 {
		one.begin(strconv.Itoa(n), "", "tool", n == 0)
	}
	if len(one.open) != mostOpen {
		t.Errorf("%d are open", len(one.open))
	}
	if _, ok := one.end("2", "completed"); ok {
		t.Error("the oldest is not the one that is given up")
	}
	if took, ok := one.end(strconv.Itoa(mostOpen+2), "completed"); !ok || took != time.Second {
		t.Errorf("the newest took %v, %v", took, ok)
	}
	if err := one.Close(context.Background()); err == nil {
		t.Error("somebody has heard it")
	}
	if len(one.open) != 0 {
		t.Errorf("%d are left", len(one.open))
	}
}
