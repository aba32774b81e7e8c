package policy_test

import (
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
)

// TestAnswers runs testdata/answers. A file is a txtar archive; each of its files
// is one case:
//
//	policy> key = value     over the policy of the contract, TOML
//	state> as in testdata/policy
//	asked> METHOD {params}
//	editor> the client's answer
//	codex< what Codex gets; "the same" for the line as it came
//	change> FIELD RULE      one for each change, in order
func TestAnswers(t *testing.T) { playCases(t, "answers", answered) }

func answered(t *testing.T, text string) string {
	t.Helper()
	cfg, st := contract(), state()
	st.Thread = &policy.Thread{ID: "T", Workspace: "/code/proj"}
	st.Escalation, st.Files = rules.Sandboxed, []string{"/code/proj/a"}
	var asked policy.ServerRequest
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "codex<", "change>", "error>":
			continue
		case "policy>":
			if _, err := toml.Decode(rest, &cfg); err != nil {
				t.Fatal(err)
			}
		case "state>":
			setState(t, &st, rest)
		case "asked>":
			method, params, _ := strings.Cut(rest, " ")
			asked = policy.ServerRequest{Method: method, Params: value(t, params)}
		case "editor>":
			m, err := rpc.ParseMessage([]byte(rest))
			if err != nil {
				t.Fatal(err)
			}
			out.WriteString(line + "\n")
			d := compile(t, cfg).DecideAnswer(asked, m, st)
			checkAnswer(t, cfg, asked, m, d, st)
			out.WriteString(printed(d, rest))
			continue
		}
		out.WriteString(line + "\n")
	}
	return out.String()
}
