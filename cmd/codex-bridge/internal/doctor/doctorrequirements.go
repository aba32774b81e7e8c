package doctor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/rpc"
)

// examineRequirements names the keys of the machine's requirements for Codex, and who holds each.
// result is the response to configRequirements/read; it also has those of another source than file.
func examineRequirements(cfg *config.Config, result json.RawMessage, file string) []finding {
	f := finding{"requirements", Fine, "", ""}
	names, source := []string(nil), file
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		source = "not in " + file
		err = nil
	case err == nil:
		names, err = setting.RequirementNames(text)
	}
	if err != nil {
		f.State, f.Detail, f.Hint = Broken, file+": "+problem.Text(err), "correct the file, or let its owner read it"
		return []finding{f}
	}
	doc, err := rpc.ParseValue(result)
	if err != nil {
		return []finding{{"requirements", Warn, "codex's requirements can't be read: " + problem.Text(err), ""}}
	}
	for name, v := range doc.Root().Get("requirements").Members() {
		if v.Kind() != rpc.Null && name != "allowedLoginMethods" { // Codex shows it always
			names = append(names, name)
		}
	}
	var held, alone, unknown []string
	for _, name := range names {
		to := &alone
		one, known := setting.FindRequirement(name)
		switch {
		case !known:
			one.Key, to = display.Line(name), &unknown
		case one.Held:
			to = &held
		}
		if !slices.Contains(*to, one.Key) {
			*to = append(*to, one.Key)
		}
	}
	var parts []string
	for _, part := range []struct {
		names []string
		text  string
	}{{held, "codex and the bridge hold "}, {alone, "codex alone holds "}, {unknown, "this bridge does not know "}} {
		if len(part.names) > 0 {
			parts = append(parts, part.text+strings.Join(part.names, ", "))
		}
	}
	if parts == nil {
		return nil
	}
	if unknown != nil {
		f.State, f.Hint = Warn, "remove what Codex does not know either, or update codex-bridge"
	}
	if slices.Contains(alone, "mcp_servers") && len(cfg.ToolServers) > 0 {
		f.State, f.Hint = Warn, "remove the servers of [tool_servers] that mcp_servers does not have"
		parts = append(parts, "mcp_servers does not limit the bridge's [tool_servers]")
	}
	f.Detail = source + ": " + strings.Join(parts, "; ")
	if r := contradiction(cfg, doc.Root(), file); r != nil {
		f.State, f.Hint = Broken, r.Hint
		f.Detail += "; no thread is opened: " + r.Reason + " (" + r.Rule + ")"
	}
	return []finding{f}
}

// contradiction returns why the policy and the requirements have nothing in common; nil if they have.
func contradiction(cfg *config.Config, required rpc.Value, file string) *policy.Refusal {
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil || p.Mode() != config.Enforce {
		return nil
	}
	r, err := policy.ParseRequirements(required, nil, file)
	if err != nil {
		return &policy.Refusal{Reason: problem.Text(err), Rule: "requirements"}
	}
	_, refusal := p.Within(r, "doctor")
	return policy.Decision{Err: refusal}.Refusal()
}
