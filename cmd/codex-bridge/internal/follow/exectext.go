package follow

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"codex-bridge.example/rpc"
)

// textForm prints progress on Err, and the last message on Out.
type textForm struct {
	ExecOptions
	config  rpc.Value
	usage   rpc.Value
	printed string // the last message on Err
	diff    string // the last one
}

// Colours of a terminal.
const (
	bold    = "1"
	dim     = "2"
	italic  = "3"
	red     = "31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
	cyan    = "36"
)

// style returns text with colours, the outermost first.
func (f *textForm) style(text string, colours ...string) string {
	if !f.Colour {
		return text
	}
	for _, colour := range slices.Backward(colours) {
		text = "\x1b[" + colour + "m" + text + "\x1b[0m"
	}
	return text
}

func (f *textForm) line(parts ...string) { fmt.Fprintln(f.Err, strings.Join(parts, " ")) }

func (f *textForm) opened(t ExecThread) {
	const rule = "--------"
	f.config = t.Config
	f.line("OpenAI Codex v" + t.Version)
	f.line(rule)
	s := t.Settings
	orNone := func(text string) string {
		if text == "" {
			return "none"
		}
		return text
	}
	for _, entry := range [][2]string{
		{"workdir", textOf(s, "cwd")}, {"model", textOf(s, "model")}, {"provider", textOf(s, "modelProvider")},
		{"approval", textOf(s, "approvalPolicy")}, {"sandbox", sandboxLabel(s, t.TempDir)},
		{"reasoning effort", orNone(textOf(s, "reasoningEffort"))}, {"reasoning summaries", orNone(textOf(t.Config, "model_reasoning_summary"))}, {"session id", t.ID},
	} {
		f.line(f.style(entry[0]+":", bold), entry[1])
	}
	f.line(rule)
	f.line(f.style("user", cyan))
	f.line(t.Prompt)
}

// sandboxLabel describes the sandbox of a thread.
func sandboxLabel(settings rpc.Value, tempDir string) string {
	sandbox, network := settings.Get("sandbox"), ""
	if on, _ := sandbox.Get("networkAccess").Bool(); on || sandbox.Get("networkAccess").Is("enabled") {
		network = " (network access enabled)"
	}
	switch kind := textOf(sandbox, "type"); kind {
	case "readOnly":
		return "read-only" + network
	case "dangerFullAccess":
		return "danger-full-access"
	case "externalSandbox":
		return "external-sandbox" + network
	case "workspaceWrite":
		roots := []string{"workdir"}
		if without, _ := sandbox.Get("excludeSlashTmp").Bool(); !without {
			roots = append(roots, "/tmp")
		}
		if without, _ := sandbox.Get("excludeTmpdirEnvVar").Bool(); !without && tempDir != "" && filepath.Clean(tempDir) != "/tmp" {
			roots = append(roots, "$TMPDIR")
		}
		for root := range sandbox.Get("writableRoots").Elements() {
			if path, _ := root.Text(); path != textOf(settings, "cwd") {
				roots = append(roots, path)
			}
		}
		return "workspace-write [" + strings.Join(roots, ", ") + "]" + network
	default:
		return kind
	}
}

func (f *textForm) show(method string, params rpc.Value) {
	item := params.Get("item")
	switch method {
	case "deprecationNotice":
		f.line(f.style("deprecated:", bold, yellow), textOf(params, "summary"))
		if details := textOf(params, "details"); details != "" {
			f.line(f.style(details, dim))
		}
	case "configWarning", "warning", "guardianWarning":
		text, _ := warningOf(method, params)
		f.line(f.style("warning:", bold, yellow), text)
	case "error":
		f.problem(params.Get("error"))
	case "hook/started", "hook/completed":
		f.hook(method, params.Get("run"))
	case "model/rerouted":
		f.line(f.style("model rerouted:", bold, yellow), textOf(params, "fromModel"), "->", textOf(params, "toModel"))
	case "item/started":
		f.started(item)
	case "item/completed":
		f.completed(item)
	case "turn/diff/updated":
		// An app-server sends the same one several times, exec prints it once (measured).
		if diff := textOf(params, "diff"); diff != f.diff && strings.TrimSpace(diff) != "" {
			f.line(diff)
			f.diff = diff
		}
	case "turn/plan/updated":
		f.plan(params)
	case "thread/tokenUsage/updated":
		f.usage = params.Get("tokenUsage").Get("total")
	case "turn/completed":
		switch turn := params.Get("turn"); {
		case turn.Get("status").Is("interrupted"):
			f.line(f.style("turn interrupted", dim))
		case turn.Get("status").Is("failed") && turn.Get("error").Kind() == rpc.Object:
			f.problem(turn.Get("error"))
		}
	}
}

// hook prints a run of a hook. Of the bridge's hooks, which exec does not have, it prints those that
// stop something.
func (f *textForm) hook(method string, run rpc.Value) {
	name, status := f.style(capitalize(textOf(run, "eventName")), dim), textOf(run, "status")
	switch {
	case run.Get("sourcePath").Is(f.OwnHooks) && (status == "running" || status == "completed"):
	case method == "hook/started":
		f.line(f.style("hook:", bold), name)
	default:
		f.line(f.style("hook:", bold), name, capitalize(status))
	}
}

func (f *textForm) problem(failure rpc.Value) { f.line(f.style("ERROR:", bold, red), errorOf(failure)) }

func (f *textForm) started(item rpc.Value) {
	switch textOf(item, "type") {
	case "commandExecution":
		f.line(f.style("exec", magenta, italic))
		f.line(f.style(textOf(item, "command"), bold), "in", textOf(item, "cwd"))
	case "mcpToolCall":
		f.line(f.style("mcp:", bold), f.style(textOf(item, "server")+"/"+textOf(item, "tool"), cyan), f.style("started", dim))
	case "webSearch":
		f.line(f.style("web search:", bold), textOf(item, "query"))
	case "fileChange":
		f.line(f.style("apply patch", bold))
	case "collabAgentToolCall":
		f.line(f.style("collab:", bold), capitalize(textOf(item, "tool")))
	}
}

func (f *textForm) completed(item rpc.Value) {
	status := snake(textOf(item, "status"))
	switch textOf(item, "type") {
	case "agentMessage":
		f.message(textOf(item, "text"))
	case "reasoning":
		text := join(item.Get("summary"))
		if all, _ := f.config.Get("show_raw_agent_reasoning").Bool(); all && item.Get("content").Len() > 0 {
			text = join(item.Get("content"))
		}
		if hidden, _ := f.config.Get("hide_agent_reasoning").Bool(); !hidden && strings.TrimSpace(text) != "" {
			f.line(f.style(text, dim))
		}
	case "commandExecution":
		f.ran(item, status)
	case "fileChange":
		f.line(f.style("patch:", bold), status)
		for change := range item.Get("changes").Elements() {
			f.line(f.style(textOf(change, "path"), dim))
		}
	case "mcpToolCall":
		colour := map[string]string{"completed": green, "failed": red}[status]
		if colour == "" {
			colour = dim
		}
		f.line(f.style("mcp:", bold), f.style(textOf(item, "server")+"/"+textOf(item, "tool"), cyan), f.style("("+f.style(status, colour)+")", dim))
		if message := textOf(item.Get("error"), "message"); message != "" {
			f.line(f.style(message, red))
		}
	case "webSearch":
		f.line(f.style("web search:", bold), textOf(item, "query"))
	case "contextCompaction":
		f.line(f.style("context compacted", dim))
	}
}

func (f *textForm) message(text string) {
	f.line(f.style("codex", magenta, italic))
	f.line(text)
	f.printed = text
}

// ran prints the result of a command.
func (f *textForm) ran(item rpc.Value, status string) {
	took, exit := "", "1"
	if ms := item.Get("durationMs"); ms.Kind() == rpc.Number {
		took = " in " + string(ms.Raw()) + "ms"
	}
	if code := item.Get("exitCode"); code.Kind() == rpc.Number {
		exit = string(code.Raw())
	}
	switch status {
	case "completed":
		f.line(f.style(" succeeded"+took+":", green))
	case "failed":
		f.line(f.style(" exited "+exit+took+":", red))
	case "declined":
		f.line(f.style(" declined"+took+":", yellow))
	default:
		f.line(f.style(" in progress"+took+":", dim))
	}
	if output := textOf(item, "aggregatedOutput"); strings.TrimSpace(output) != "" {
		f.line(output)
	}
}

func (f *textForm) plan(params rpc.Value) {
	if why := textOf(params, "explanation"); why != "" {
		f.line(f.style(why, italic))
	}
	for step := range params.Get("plan").Elements() {
		switch text := textOf(step, "step"); textOf(step, "status") {
		case "completed":
			f.line("  "+f.style("✓", green), text)
		case "inProgress":
			f.line("  "+f.style("→", cyan), text)
		default:
			f.line("  "+f.style("•", dim), f.style(text, dim))
		}
	}
}

func (f *textForm) end(message *string) {
	if f.usage.Exists() {
		count := func(name string) int {
			n, _ := strconv.Atoi(string(f.usage.Get(name).Raw()))
			return max(0, n)
		}
		f.line(f.style("tokens used", dim))
		f.line(grouped(max(0, count("inputTokens")-count("cachedInputTokens")) + count("outputTokens")))
	}
	switch {
	case message == nil:
	case f.PrintsMessage():
		fmt.Fprintln(f.Out, *message)
	case f.printed != *message:
		f.message(*message)
	}
}

// grouped returns a number with a comma for each thousand.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
