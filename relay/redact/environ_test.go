package redact_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"codex-bridge.example/relay/redact"

	"github.com/google/go-cmp/cmp"
)

// Secrets of the environment are replaced everywhere.
func TestSecretsOfTheEnvironmentAreRedacted(t *testing.T) {
	known := redact.EnvironSecrets([]string{
		"SERVICE_PASSWORD=rosebud in the snow", "API_TOKEN=rosebud in", "HOME=rosebudhome", "SHORT_KEY=rose", "GPG_KEY=/home/u/key.asc", "BASE_KEY=/rosebud+/in64", "TOKEN", "=",
		"DB_PASS=a pass of rosebud", "GH_PAT=a pat of rosebud", "LDAP_BINDPW=a pw of rosebud", "DB_URL=postgres://me:rose%40snow@host/db",
		"PWD=rosebud snow", "AUTH_PROVIDER=rosebuds", "PATH=rosebud:snow", "SSH_ASKPASS=rosebud-ask", "BAD=://x:rosebud123@",
		"DEV_URL=postgres://user:password@localhost/db", "TEST_URL=postgres://postgres:postgres@localhost/db", "DEV_PASSWORD=password",
	})
	if diff := cmp.Diff([]string{"rosebud in the snow", "rosebud in", "/rosebud+/in64", "a pass of rosebud", "a pat of rosebud", "a pw of rosebud", "rose@snow"}, known); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	r := redact.New(redact.Limits{}, known...)
	got, err := r.JSON([]byte(`{"t":"it says rosebud in the snow, or rosebud in","rosebud in":["rose rosebudhome"]}`))
	if want := `{"t":"it says <redacted>, or <redacted>","<redacted>":["rose rosebudhome"]}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

// Known secrets are replaced in other spellings too.
func TestEncodedSecretsAreRedacted(t *testing.T) {
	const secret = `p"ä/s+w\örd&1`
	r := redact.New(redact.Limits{}, secret)
	quoted, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{
		secret, `p'ä/s+w/örd&1`, strings.Trim(string(quoted), `"`), url.QueryEscape(secret), url.PathEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte("ada:" + secret + "\n")),
		base64.RawStdEncoding.EncodeToString([]byte("me:" + secret + "!")), base64.StdEncoding.EncodeToString([]byte("u:pw:" + secret)),
	} {
		got := r.Text("say " + form + " now")
		if !strings.HasPrefix(got, "say ") || !strings.Contains(got, "<redacted>") || len(got) > len("say <redacted> now")+10 {
			t.Errorf("%s: %s", form, got)
		}
	}
}
