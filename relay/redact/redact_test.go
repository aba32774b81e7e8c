package redact_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"codex-bridge.example/relay/redact"

	"pgregory.net/rapid"
)

// canary is the secret.
const canary = "Zq7Kx0Vw9Rt3Yb5N"

// contexts are texts with a secret at %s.
var contexts = []string{
	`{"password":"%s"}`, `{"a":[{"X-Api-Key":"%s"}]}`, `{"credentials":{"x":["%s"]}}`, `{"cookie":["%s"]}`,
	`{"t":"Authorization: Bearer %s"}`, `{"t":"authorization=\"Custom %s\""}`, `{"t":"bearer %s,"}`, `{"t":"Basic %s"}`,
	`{"t":"eyJ%s.abcdef.ghi"}`, `{"t":"eyJabcdefgh.%s.ghi"}`, `{"t":"eyJabcdefgh.abcd.%s"}`,
	`{"t":"Set-Cookie: a=%s; Path=/"}`, `{"t":"sid=%s; x"}`, `{"t":"https://user:%s@host/x"}`,
	`{"t":"API_KEY=%s"}`, `{"t":"export DB_PASSWORD='a %s b'"}`, `{"t":"{\"apiToken\":\"%s\"}"}`, `{"t":"{\\\"apiToken\\\": \\\"%s\\\"}"}`,
	`{"t":"tool --password %s"}`, `{"t":"tool --token=%s"}`, `{"t":"sk-%s"}`, `{"t":"ghp_%s"}`, `{"t":"AKIA%s"}`,
	`{"t":"-----BEGIN RSA PRIVATE KEY-----\n%s\n-----END RSA PRIVATE KEY-----"}`, `{"t":"-----BEGIN PRIVATE KEY-----\n%s"}`,
	`{"u":"data:image/png;base64,%s"}`, `{"u":"see data:text/plain;base64,%s)"}`, `{"deltaBase64":"%s"}`, `{"sk-%[1]s":1}`,
	`{"t":"{\"password\":\"a\\\"%s\"}"}`, `{"t":"{\\\"passWord\\\":\\\"a\\\\\\\"b %s\\\"}"}`, `{"t":"KEY_PASSWORD=\"a\nb %s\""}`, `{"t":"{\"\\u0070assword\":\"%s\"}"}`,
	`{"t":"{\"\\u0041PI_\\u004bEY\": \"%s\"}"}`, `{"t":"https://u:a@%s@host/x"}`, `{"t":"git clone https://%s@host/x"}`, `{"t":"https://%s:x-oauth@host/x"}`,
	`{"t":"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n%s\n-----END PGP PRIVATE KEY BLOCK-----"}`, `{"passphrase":"%s"}`, `{"t":"passphrase=%s"}`,
	`{"t":"https://host/x?sv=1&sig=%s"}`, `{"t":"x-amz-signature=%s"}`, `{"t":"hf_%s"}`, `{"t":"ya29.%s"}`, `{"t":"db:\n  password: |\n    %s\n    %s\n"}`,
	`{"params":{"edits":[{"keyPath":"mcp_servers.x.env.API_KEY","value":"%s"},{"keyPath":"model","value":{"password":["%s"]}}]}}`,
	`{"env":[{"name":"X_API_KEY","value":"%s"}]}`, `{"command":["tool","--password","%s","x"]}`,
	`{"t":"curl -s -u me:%s https://host/x"}`, `{"t":"curl https://host/?a=1&b=2 \\\n  -sSu 'me:%s'"}`, `{"t":"bash -lc \"curl --user \\\"me:%s\\\" x\""}`, `{"t":"curl -ume:%s x"}`,
	`{"t":"mysql -h db -p%s x"}`, `{"t":"mysqldump -u root '-p%s'"}`, `{"t":"mysql -p'a'\"%s\" x"}`, `{"t":"sshpass -p %s ssh host"}`, `{"t":"sshpass -p'a b%s' ssh host"}`,
	`{"t":"machine host login me password %s\nmachine x"}`, `{"t":"default\n  login me\n  password %s"}`, `{"args":["--verbose","--api-key","%s"]}`,
	`{"t":"tool --password \"%s\""}`, `{"t":"tool --password 'a %s' x"}`, `{"t":"bash -lc \"tool --api-token \\\"%s\\\"\""}`, `{"t":"tool --password $'%s'"}`, `{"t":"tool --token \\%s"}`, `{"t":"tool --token \\-%s"}`, `["curl","-o","/tmp/mysql-dump","https://h/api/mysql","-u","me:%s"]`, `["redis-cli","-a","%s"]`, `["docker","login","-u","me","-p","%s","host"]`,
	`{"t":"Cookie: a=x; b=\"%s\"; c=d"}`, `{"t":"TOKEN=$(echo %s) x"}`, `{"t":"export TOKEN=\"$(echo %s)\""}`, `{"t":"password=(\"%s\")"}`, `{"t":"curl -u $'u:%s' x"}`,
	`{"t":"DB_PASS=%s"}`, `{"t":"MYSQL_PWD='%s' mysql"}`, `{"t":"//host/:_auth=%s"}`, `{"t":"PASS=%s x"}`, `{"t":"PASS=\"a %s\""}`, `{"env":{"DB_PASS":"%s"}}`, `{"t":"session=\"%s\""}`,
	`{"t":"redis-cli -h x -a %s ping"}`, `{"t":"docker login -u me -p %s host"}`, `{"t":"helm registry login -p='%s' host"}`,
	`{"args":["curl","-su","me:%s","https://host"]}`, `{"args":["/usr/bin/curl","--user=me:;%s"]}`, `{"args":["curl.exe","-s","-ume:%s"]}`, `["sudo","mysqldump","-u","me","-p%s","db"]`,
	`["sshpass","-p","\"%s&x","mysql","-p;%s"]`, `["sshpass","-v","-p %s","ssh"]`,
}

func TestSecretsAreRedacted(t *testing.T) {
	for _, form := range contexts {
		secret := canary
		if strings.Contains(form, "AKIA") {
			secret = strings.ToUpper(canary)
		}
		line := strings.ReplaceAll(strings.ReplaceAll(form, "%s", secret), "%[1]s", secret)
		got, err := redact.New(redact.Limits{}).JSON([]byte(line))
		if err != nil || strings.Contains(string(got), secret) || !json.Valid(got) {
			t.Errorf("%s: %s (%v)", form, got, err)
		}
	}
}

func TestOtherTextsStay(t *testing.T) {
	for _, line := range []string{
		`{"t":"curl -X PUT http://host:80/x && docker run -u 1000:1000 x; mysql -p -u me; the default password is none; curl -o u http://x"}`,
		`{"tokenUsage":{"last":{"inputTokens":12,"outputTokens":1.50}}}`, `{"a":"a token of love, and the key of C"}`, `{"isSecret":false,"apiKey":null}`,
		`{"text":"basic understanding"}`, `{"args":["--token","--verbose","x"]}`, `{"name":"HOME","value":"/root"}`, `{"t":"\\u0041 and \\u0022"}`,
		`{"t":"https://example.com:8080/@scope/a@b, ssh://git@host/x and password=\"\", key: \"x\""}`, `{"n":1e400,"z":"é\u2028"}`, `{"b":2,"a":1,"b":3}`,
		`{"t":"--- PASS: TestX; test_passed=12, PWD=/home/me OLDPWD=/ docker run -p 80:80 x; git push --token"}`, `{"t":"use --password <file> or --token -v"}`,
		`["curl","-XPUT","https://host:80/x","-o","u:x"]`, `["docker","run","-u","1:1","-p80:80"]`, `["mysql",{"x":"-pub"},"-u","p:x","-p"]`,
	} {
		got, err := redact.New(redact.Limits{}).JSON([]byte(line))
		var want, have any
		if err != nil || json.Unmarshal([]byte(strings.ReplaceAll(line, "1e400", "0")), &want) != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(got), "1e400", "0")), &have); err != nil || !equal(want, have) {
			t.Errorf("%s: %s (%v)", line, got, err)
		}
	}
}

func equal(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

func TestLimitsHoldForAnyValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := redact.Limits{Text: rapid.IntRange(1, 40).Draw(t, "text"), Items: rapid.IntRange(1, 5).Draw(t, "items"), Depth: rapid.IntRange(1, 4).Draw(t, "depth")}
		in, err := json.Marshal(value(t, 6))
		if err != nil {
			t.Fatal(err)
		}
		out, err := redact.New(l).JSON(in)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		checkLimits(t, l, got, 0)
	})
}

func value(t *rapid.T, depth int) any {
	switch n := rapid.IntRange(0, 3).Draw(t, "kind"); {
	case n == 0 && depth > 0:
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return value(t, depth-1) }), 0, 8).Draw(t, "array")
	case n == 1 && depth > 0:
		return rapid.MapOfN(rapid.String(), rapid.Custom(func(t *rapid.T) any { return value(t, depth-1) }), 0, 8).Draw(t, "object")
	case n == 2:
		return rapid.Int().Draw(t, "number")
	}
	return rapid.StringN(0, 80, -1).Draw(t, "string")
}

func checkLimits(t *rapid.T, l redact.Limits, v any, depth int) {
	most := max(l.Text+1, len("<redacted data-uri 0000 chars>"))
	switch v := v.(type) {
	case string:
		if utf8.RuneCountInString(v) > most {
			t.Fatalf("%d characters: %q", utf8.RuneCountInString(v), v)
		}
	case []any:
		if len(v) > l.Items || depth >= l.Depth {
			t.Fatalf("%d elements at depth %d", len(v), depth)
		}
		for _, e := range v {
			checkLimits(t, l, e, depth+1)
		}
	case map[string]any:
		if len(v) > l.Items || depth >= l.Depth {
			t.Fatalf("%d members at depth %d", len(v), depth)
		}
		for _, e := range v {
			checkLimits(t, l, e, depth+1)
		}
	}
}

// A known secret of any letters is replaced in any context.
func FuzzKnownSecret(f *testing.F) {
	f.Add("", byte(0))
	f.Add("say \"token\": ", byte(4))
	f.Add("x=\\\n--", byte(14))
	f.Add("eyJ", byte(9))
	f.Fuzz(func(t *testing.T, before string, n byte) {
		form := contexts[int(n)%len(contexts)]
		secret := canary
		if strings.Contains(form, "AKIA") {
			secret = strings.ToUpper(canary)
		}
		line := strings.ReplaceAll(strings.ReplaceAll(form, "%s", secret), "%[1]s", secret)
		quoted, err := json.Marshal(before + " ")
		if err != nil {
			t.Fatal(err)
		}
		line = strings.Replace(line, `{"t":"`, `{"t":`+strings.TrimSuffix(string(quoted), `"`), 1)
		if strings.Contains(before, secret) {
			return
		}
		got, err := redact.New(redact.Limits{}).JSON([]byte(line))
		if err != nil || !json.Valid(got) {
			t.Fatalf("%s: %s (%v)", line, got, err)
		}
		if strings.Contains(string(got), secret) {
			t.Fatalf("%s: %s", line, got)
		}
	})
}
