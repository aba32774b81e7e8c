package policy

import (
	"slices"
	"strings"
)

// rule judges some fields of params. The fields of a rule belong together: it
// reads and rewrites all of them.
type rule struct {
	fields []string
	apply  func(c *call, fields []string)
}

// method is one row: what its params may carry.
type method struct {
	// opens: it opens a thread, and its answer echoes the policy.
	opens bool
	// starts: it is thread/start, for which left-out fields come from codex's
	// configuration and not from the thread's past.
	starts bool
	// configured: model and effort, left out, come from codex's configuration
	// too. Measured: so they do for a fork; a resume brings the thread's back.
	configured bool
	rules      []rule
	// known are the fields of the rules and the members that the policy has no
	// word about and that nearly every message has, each once.
	known []string
}

func fields(names ...string) []string { return names }

// methodTable is the whole of what is judged. The order of the rules matters:
// the workspace is known before the sandbox is decided, the sandbox before the
// overlay, the overlay before the default of the model.
func methodTable() map[string]*method {
	approval := rule{fields("approvalPolicy"), (*call).approval}
	reviewer := rule{fields("approvalsReviewer"), (*call).reviewer}
	model := rule{fields("model"), (*call).model}
	effort := rule{fields("effort"), (*call).effort}
	roots := rule{fields("runtimeWorkspaceRoots"), (*call).workspaceRoots}
	environments := rule{fields("environments"), (*call).environments}
	collaboration := rule{fields("collaborationMode"), (*call).collaboration}
	workspace := rule{fields("cwd"), (*call).workspaceCwd}
	cwd := rule{fields("cwd"), (*call).turnCwd}
	mode := rule{fields("sandbox", "permissions"), (*call).threadSandbox}
	object := rule{fields("sandboxPolicy", "permissions"), (*call).turnSandbox}
	overlay := rule{fields("config"), (*call).overlay}
	foreign := rule{fields("path", "history"), (*call).foreignHistory}
	output := rule{fields("toolOutput"), (*call).inventedOutput}
	capabilities := rule{fields("selectedCapabilityRoots"), (*call).capabilityRoots}

	table := map[string]*method{
		"thread/start": {opens: true, starts: true, configured: true, rules: []rule{
			workspace, capabilities, roots, environments, approval, reviewer, mode, overlay, model,
		}},
		"thread/resume": {opens: true, rules: []rule{
			foreign, workspace, roots, approval, reviewer, mode, overlay, model,
		}},
		"thread/fork": {opens: true, configured: true, rules: []rule{
			{fields("path"), (*call).foreignHistory}, workspace, roots, approval, reviewer, mode, overlay, model,
		}},
		"turn/start": {rules: []rule{
			output, cwd, roots, environments, approval, reviewer, object, model, effort, collaboration,
		}},
		"thread/settings/update": {rules: []rule{
			cwd, environments, approval, reviewer, object, model, effort, collaboration,
		}},
		"turn/settings/update": {rules: []rule{
			environments, reviewer, model, effort,
		}},
	}
	for _, m := range table {
		m.known = fields("threadId", "turnId", "input", "clientUserMessageId", "summary", "outputSchema", "personality", "serviceTier")
		for _, r := range m.rules {
			for _, f := range r.fields {
				if !slices.Contains(m.known, f) {
					m.known = append(m.known, f)
				}
			}
		}
	}
	return table
}

// policedNames are the fields of all methods, folded.
func policedNames(table map[string]*method) map[string]string {
	names := make(map[string]string)
	for _, m := range table {
		for _, r := range m.rules {
			for _, f := range r.fields {
				names[fold(f)] = f
			}
		}
	}
	return names
}

// fold makes the spellings of a name equal that a later codex might take for
// it: case, separators, quotes and white space don't count.
func fold(name string) string {
	plain := true
	for i := 0; i < len(name) && plain; i++ {
		plain = 'a' <= name[i] && name[i] <= 'z'
	}
	if plain {
		return name
	}
	return strings.ToLower(strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', '"', '\'', ' ', '\t', '\n', '\r':
			return -1
		}
		return r
	}, name))
}
