package redact_test

import (
	"testing"

	"codex-bridge/relay/redact"

	"github.com/google/go-cmp/cmp"
)

// What the environment says is a secret is one wherever it stands.
func TestEnviron(t *testing.T) {
	known := redact.Environ([]string{
		"SERVICE_PASSWORD=rosebud in the snow", "API_TOKEN=rosebud in", "HOME=rosebudhome", "SHORT_KEY=rose", "GPG_KEY=/home/u/key.asc", "TOKEN", "=",
	})
	if diff := cmp.Diff([]string{"rosebud in the snow", "rosebud in"}, known); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	r := redact.New(redact.Limits{}, known...)
	got, err := r.JSON([]byte(`{"t":"it says rosebud in the snow, or rosebud in","rosebud in":["rose rosebudhome"]}`))
	if want := `{"t":"it says <redacted>, or <redacted>","<redacted>":["rose rosebudhome"]}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}
