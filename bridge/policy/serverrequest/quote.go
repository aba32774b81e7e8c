package serverrequest

import (
	"encoding/json"
	"strings"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// reasonMarks replaces characters by which a stated reason could end its quotation, or look like the bridge's own
// words where a client renders Markdown.
var reasonMarks = strings.NewReplacer(`"`, "'", "\u201c", "'", "\u201d", "'", "`", "'", "*", "\u2217", "_", "\u02cd", "[", "(", "]", ")", "<", "\u2039", ">", "\u203a", "~", "\u223c", "\\", "/")

// QuoteMarks returns a text as a question shows it in a stated reason.
func QuoteMarks(text string) string { return reasonMarks.Replace(text) }

// statedReason returns the reason of a request of Codex, which is the model's or one of Codex's, apart from the
// bridge's words; "" if there is none.
func statedReason(params rpc.Value) string {
	said, _ := params.Get("reason").Text()
	if said = strings.TrimSpace(said); said == "" {
		return ""
	}
	return "Stated reason (not checked): " + display.Quote(QuoteMarks(said))
}

// quoteReason quotes the reason of a request that stays in the sandbox: it may imitate the bridge.
func quoteReason(p *policy.Policy, method string, params rpc.Value) policy.Decision {
	text := statedReason(params)
	switch method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval":
	default:
		text = ""
	}
	if text == "" {
		return policy.Decision{Verdict: policy.Pass}
	}
	to := json.RawMessage(policy.JSONString(text))
	return policy.Decision{Verdict: policy.Rewrite, ShownReason: to, Changes: []policy.Change{{
		Field: "params.reason", Rule: policy.RuleMode, Reason: "the reason is not checked, so it is quoted", Origin: p.OriginOrDefault(policy.RuleMode), From: policy.CloneRaw(params.Get("reason")), To: to,
	}}}
}
