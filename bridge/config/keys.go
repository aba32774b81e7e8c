package config

import (
	"codex-bridge/bridge/setting"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The words of the protocol, each list in the order in which messages and the
// schema show it.
var (
	modes      = []string{"off", "audit", "enforce"}
	approvals  = []string{"untrusted", "on-request", "never", "granular"}
	sandboxes  = []string{"read-only", "workspace-write", "danger-full-access"}
	reviewers  = []string{"user", "auto_review", "guardian_subagent"}
	presets    = []string{setting.PresetYolo, setting.SecurityFull, setting.PresetGuardian, setting.ModeAuto, setting.ModeAsk}
	securities = []string{setting.SecurityDeny, setting.SecurityAllowlist, setting.SecurityFull}
	asks       = []string{setting.AskOff, setting.AskOnMiss, setting.AskAlways}
	decisions  = []string{"allow", "ask", "deny"}
	hookEvents = []string{"pre_tool_use", "post_tool_use", "stop", "permission_request"}
)

var (
	toolName  = newExpr(`^[a-zA-Z0-9_-]{1,128}$`)
	namespace = newExpr(`^[a-zA-Z0-9_-]{1,64}$`)
	plainName = newExpr(`^[a-zA-Z0-9_.-]{1,64}$`)
	envName   = newExpr(`^[^=\x00]+$`)
	version   = newExpr(`^([0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?)?$`)
	webURL    = newExpr(`^https?://[^/]`)
	storeURL  = newExpr(`^(postgres(ql)?://.+)?$`)
	otelURL   = newExpr(`^(https?://[^/].*)?$`)
	method    = newExpr(`^[A-Za-z][A-Za-z0-9_/.$-]*$`)
)

const (
	ms   = int64(time.Millisecond)
	sec  = int64(time.Second)
	hour = int64(time.Hour)
)

// specs has a row for every key of the format: its meaning and what its value
// may be. Elements of lists are "key[]", of maps "key.*".
var specs = map[string]spec{
	"codex":                {doc: "The real Codex, which the bridge starts."},
	"codex.command":        {doc: "The real Codex: a name on PATH or a path.", filled: true, resolve: from.command},
	"codex.args":           {doc: "Flags that the bridge puts before those of the client."},
	"codex.env":            {doc: "Variables that the bridge adds to Codex's environment.", names: envName, nameWants: "a name without ="},
	"codex.env.*":          {secret: true},
	"codex.env_remove":     {doc: "Variables that the bridge removes from Codex's environment."},
	"codex.env_remove[]":   {pattern: envName, wants: "a name without ="},
	"codex.min_version":    {doc: "The oldest Codex that the bridge accepts. Empty means 0.166.0.", pattern: version, wants: `a version such as "0.125.0"`},
	"codex.shutdown_grace": {doc: "The time between end of input, SIGTERM and SIGKILL of Codex and all it started.", least: 0, most: hour / 60},
	"codex.max_message":    {doc: "The longest message of the client, and the longest message of Codex that the bridge keeps in memory.", least: int64(KiB), most: int64(GiB)},

	"policy":                   {doc: "What a client may ask of Codex."},
	"policy.mode":              {doc: "off forwards everything; audit decides and logs; enforce decides, changes and refuses. Without a [policy] section: off. In a section without a mode: enforce.", enum: modes},
	"policy.preset":            {doc: "Values of approval, sandbox and reviewers that no file sets.", enum: presets},
	"policy.security":          {doc: "How freely Codex runs commands. With ask, this forces approval, sandbox and reviewers.", enum: securities},
	"policy.ask":               {doc: "When a person is asked about a command. on-miss: when the sandbox does not allow it.", enum: asks},
	"policy.approval":          {doc: "Allowed approval policies. The first replaces a forbidden one, and can't be granular.", filled: true, first: approvals[:3]},
	"policy.approval[]":        {enum: approvals, hints: map[string]string{"on-failure": "Codex dropped it; use on-request"}},
	"policy.sandbox":           {doc: "The loosest sandbox allowed.", enum: sandboxes},
	"policy.network":           {doc: "Whether commands may use the network inside the sandbox."},
	"policy.writable_roots":    {doc: "Folders that may be writable: absolute, or below ${workspace} or ~. None may be a link or behind one."},
	"policy.writable_roots[]":  {resolve: from.root},
	"policy.reviewers":         {doc: "Allowed reviewers of approvals. The first replaces a forbidden one.", filled: true},
	"policy.reviewers[]":       {enum: reviewers},
	"policy.models":            {doc: "Allowed models. Empty allows all. The first without wildcards replaces a forbidden one."},
	"policy.models[]":          {filled: true, check: checkGlob},
	"policy.efforts":           {doc: "Allowed reasoning efforts. Empty allows all. The first replaces a forbidden one."},
	"policy.efforts[]":         {filled: true},
	"policy.config_keys":       {doc: "Dotted configuration keys that a client may set, with the keys below them. The bridge removes all others. Each segment is a glob; ** is any number of segments."},
	"policy.config_keys[]":     {filled: true, check: checkKeyGlob},
	"policy.commands":          {doc: "Codex commands that may run through the bridge, such as login, exec or mcp list."},
	"policy.commands[]":        {filled: true, check: checkCommandGlob},
	"policy.unknown_methods":   {doc: "What the bridge does with methods that are not in its table.", enum: []string{"deny", "allow"}},
	"policy.gate":              {doc: "Whether the bridge asks in Codex's place where a client wants to be asked about everything. What you accept then stays in the sandbox."},
	"policy.escalation":        {doc: "What happens to an action that would leave the sandbox: the bridge refuses it, or asks the person.", enum: []string{"deny", "ask"}},
	"policy.protected_paths":   {doc: "Paths in every workspace. A change of one counts as leaving the sandbox. No patterns."},
	"policy.protected_paths[]": {resolve: from.protected},
	"policy.project_trust":     {doc: "When a repository's own .codex configuration counts: never; in projects that your own Codex configuration trusts; or as Codex decides.", enum: []string{"never", "user", "codex"}},
	"policy.methods":           {doc: "Other verdicts for methods, by name.", names: method, nameWants: `a method such as "thread/shellCommand"`},
	"policy.methods.*":         {enum: decisions},
	"policy.rule":              {doc: "Rules for approvals and hooks. In a layer the first match decides; between layers the strictest."},
	"policy.rule[]":            {required: []string{"decision"}, anyOf: []string{"tool", "command", "path"}},
	"policy.rule[].tool":       {doc: "shell, file, mcp, the name of a dynamic tool, or a glob.", filled: true, check: checkGlob},
	"policy.rule[].command":    {doc: "Words of a simple shell command. * is one word, ** any number of words.", filled: true, check: checkWords},
	"policy.rule[].path":       {doc: "A glob of changed files: absolute, or beginning with ${workspace}, ~/ or **/.", filled: true, resolve: from.rulePath},
	"policy.rule[].escalated":  {doc: "The rule also applies to commands that leave the sandbox. An allow rule applies to those only."},
	"policy.rule[].decision":   {doc: "What the rule decides.", enum: decisions},
	"policy.rule[].reason":     {doc: "Text that the bridge shows with each refusal by this rule."},

	"approvals":          {doc: "How the bridge remembers answers and waits for them."},
	"approvals.remember": {doc: "How long the bridge keeps an answer that you gave for longer than once.", enum: []string{"off", "session", "always"}},
	"approvals.ttl":      {doc: "How long a remembered answer counts.", least: ms, most: 8760 * hour},
	"approvals.max":      {doc: "How many answers the bridge remembers.", least: 1, most: 1 << 20},
	"approvals.timeout":  {doc: "How long the bridge waits for an answer before it declines.", least: ms, most: 24 * hour},

	"hooks":                   {doc: "Hooks in each thread. They are on if a file has this section or the policy enforces."},
	"hooks.events":            {doc: "The events with a hook."},
	"hooks.events[]":          {enum: hookEvents},
	"hooks.timeout":           {doc: "How long Codex waits for the hook.", least: ms, most: hour},
	"hooks.on_failure":        {doc: "The decision if the hook can't reach the bridge, or a handler or the client fails.", enum: []string{"deny", "allow"}},
	"hooks.max_revisions":     {doc: "How often stop may ask for one more pass in a turn.", least: 1, most: 1000},
	"hooks.handler":           {doc: "Your own commands for hook events."},
	"hooks.handler[]":         {required: []string{"event", "command"}},
	"hooks.handler[].event":   {doc: "The event: one of hooks.events.", enum: hookEvents},
	"hooks.handler[].command": {doc: "The program and its arguments.", program: true},
	"hooks.handler[].timeout": {doc: "How long the handler may run.", least: ms, most: hour},

	"tools":                {doc: "Your own tools for the model, by name.", names: toolName, nameWants: "1 to 128 letters, digits, _ or -", nameCheck: checkToolName},
	"tools.*":              {required: []string{"description", "command"}},
	"tools.*.description":  {doc: "What the tool does, for the model.", filled: true},
	"tools.*.input_schema": {doc: "A JSON Schema of the arguments. Its type is object. It can't refer to other documents.", schema: true},
	"tools.*.command":      {doc: "The program and its arguments. It gets the tool's arguments as JSON on stdin.", program: true},
	"tools.*.timeout":      {doc: "How long a call may run.", least: ms, most: hour},
	"tools.*.loading":      {doc: "direct: the model gets the tool at once. searchable: it finds the tool by search, in the namespace host.", enum: []string{Direct, Searchable}},

	"tool_servers":                    {doc: "Servers whose tools the bridge offers to the model, by name.", names: namespace, nameWants: "1 to 64 letters, digits, _ or -"},
	"tool_servers.*":                  {oneOf: []string{"command", "url"}},
	"tool_servers.*.command":          {doc: "The server's program and its arguments.", program: true},
	"tool_servers.*.url":              {doc: "The server's address, http or https. A server has a command or a url.", pattern: webURL, wants: `an address such as "https://…"`, check: checkURL, secret: true},
	"tool_servers.*.protocol":         {doc: "MCP, or two JSON-RPC methods of codex-bridge, which need a command.", enum: []string{"mcp", "jsonrpc"}},
	"tool_servers.*.bearer_token_env": {doc: "The variable of the bridge's environment that holds the token for url. The address must have https or be on this machine.", pattern: envName, wants: "a name without ="},
	"tool_servers.*.loading":          {doc: "direct: the model gets the tools at once. searchable: it finds them by search.", enum: []string{Direct, Searchable}},
	"tool_servers.*.namespace":        {doc: "The namespace of the tools. Empty means the server's name. Codex reserves some names, such as browser, functions, terminal and web.", pattern: namespace, wants: "a name of 1 to 64 letters, digits, _ or -", check: checkNamespace},

	"tool_limits":             {doc: "Limits of all tool calls."},
	"tool_limits.timeout":     {doc: "How long a call that names no time may take, up to max_timeout.", least: ms, most: hour},
	"tool_limits.max_timeout": {doc: "The longest time that a call may ask for.", least: ms, most: hour},
	"tool_limits.max_text":    {doc: "How many characters of a result the model sees.", least: 1, most: 1 << 24},
	"tool_limits.loops":       {doc: "Whether the bridge warns a model that repeats a call in a turn, and then refuses the call."},

	"thread":                        {doc: "What the bridge adds to threads. Without this section it adds nothing."},
	"thread.service_name":           {doc: "The service name of new threads, if the client sends none."},
	"thread.developer_instructions": {doc: "Instructions of new threads, before those of the client."},
	"thread.cron_instructions":      {doc: "What the model reads in a turn that a schedule started. Empty means the built-in text."},
	"thread.heartbeat_instructions": {doc: "What the model reads in a turn that a timer started. Empty means the built-in text."},
	"thread.config":                 {doc: "Codex configuration merged into every thread's. The client's values win, and the policy decides about the result. No dates."},

	"thread.code_mode":      {doc: "Whether the model writes programs that call tools: only, off, or empty for the choice of Codex and the client. This overrides the client (features.code_mode).", enum: []string{CodeModeOnly, CodeModeOff}},
	"thread.lightweight":    {doc: "Whether threads start without the project's own instructions (AGENTS.md). This overrides the client; policy.config_keys must allow project_doc_max_bytes."},
	"thread.max_rollout":    {doc: "A session whose thread's file has grown to this size gets another thread. 0 means no limit.", least: 0, most: 1024 * int64(GiB)},
	"thread.on_stale_tools": {doc: "What happens to a resumed thread that started with other tools than the host has now: a warning, or a fork that has the new tools.", enum: []string{Warn, Fork}},

	"steering":       {doc: "What a message does that comes during a turn."},
	"steering.mode":  {doc: "steer joins the running turn; followup starts one turn after it, with other waiting messages; queue starts its own turn after it; interrupt ends it.", enum: []string{"steer", "followup", "queue", "interrupt"}},
	"steering.quiet": {doc: "How long the bridge collects messages before it sends them.", least: 0, most: hour / 60},

	"trace":           {doc: "Recorded traffic of threads."},
	"trace.enabled":   {doc: "Whether the bridge records traces."},
	"trace.max_event": {doc: "The bridge cuts longer events.", least: int64(KiB), most: int64(GiB)},
	"trace.max_file":  {doc: "The size at which a trace file ends.", least: int64(KiB), most: 1024 * int64(GiB)},
	"trace.keep":      {doc: "How long a trace is kept after its last event. 0s keeps it for good. Logs of agents too.", least: 0, most: 87600 * hour},

	"transcript":         {doc: "The searchable copy of conversations."},
	"transcript.enabled": {doc: "Whether the bridge keeps transcripts."},
	"transcript.keep":    {doc: "How long a record is kept. 0s keeps it for good.", least: 0, most: 87600 * hour},

	"store":     {doc: "Where state is kept."},
	"store.url": {doc: "Empty: SQLite in the state folder. postgres://… shares the state between machines.", pattern: storeURL, wants: `an address such as "postgres://…", or empty for SQLite in the state folder`, check: checkURL, secret: true},

	"otel":          {doc: "Export to an OpenTelemetry collector."},
	"otel.endpoint": {doc: "The collector's address, for OTLP over HTTP in JSON, such as http://localhost:4318. Empty: OTEL_EXPORTER_OTLP_ENDPOINT, unless OTEL_EXPORTER_OTLP_PROTOCOL is grpc or OTEL_SDK_DISABLED is true.", pattern: otelURL, wants: `an address such as "http://localhost:4318"`, check: checkURL, secret: true},

	"acp":                  {doc: "ACP agents that the bridge can start."},
	"acp.enabled":          {doc: "Whether agents can start."},
	"acp.default_agent":    {doc: "The agent of a request that names none."},
	"acp.allowed":          {doc: "Agents that may start. Empty allows all that are configured."},
	"acp.allowed[]":        {filled: true},
	"acp.agents":           {doc: "The agents, by id.", names: plainName, nameWants: "1 to 64 letters, digits, _, . or -"},
	"acp.agents.*":         {required: []string{"command"}},
	"acp.agents.*.command": {doc: "The agent's program and its arguments.", program: true},

	"image":         {doc: "Descriptions of images."},
	"image.model":   {doc: "The model. Empty: the first listed model that takes images."},
	"image.timeout": {doc: "How long a description may take, Codex's start included. Less than 100ms counts as 100ms.", least: ms, most: hour},
}

func checkWords(s string) problem {
	for _, word := range strings.Fields(s) {
		if p := checkGlob(word); !p.ok() {
			return p
		}
	}
	return problem{}
}

// checkToolName and checkNamespace know what the app server refuses.
func checkToolName(s string) problem {
	if s == "mcp" || strings.HasPrefix(s, "mcp__") {
		return problem{clip(s) + " is a reserved name", "choose a name other than mcp and not beginning with mcp__"}
	}
	return problem{}
}

var reservedNamespaces = []string{
	"api_tool", "browser", "computer", "container", "file_search", "functions", "image_gen", "multi_tool_use",
	"python", "python_user_visible", "submodel_delegator", "terminal", "tool_search", "web",
}

func checkNamespace(s string) problem {
	if slices.Contains(reservedNamespaces, s) {
		return problem{clip(s) + " is reserved by Codex", "choose another namespace"}
	}
	return problem{}
}

func checkProtocol(s ToolServer) problem {
	if s.Protocol == "jsonrpc" && s.URL != "" {
		return problem{`"jsonrpc" is for a command`, "take it out: a server with an address speaks MCP"}
	}
	return problem{}
}

// checkToken keeps a token from going over the network for all to read.
func checkToken(s ToolServer) problem {
	if s.BearerTokenEnv == "" {
		return problem{}
	}
	if s.URL == "" {
		return problem{"is for an address", "take it out: a command reads its secrets from where it keeps them"}
	}
	address, err := url.Parse(s.URL)
	if err != nil || address.Scheme == "https" {
		return problem{} // of what is no address checkURL speaks
	}
	host := address.Hostname()
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return problem{}
	}
	return problem{"the token would be sent for all to read", "write an address with https, or one of this machine"}
}

// checkURL never shows the value, which may hold a password.
func checkURL(v string) problem {
	if _, err := url.Parse(v); err != nil {
		return problem{"not a valid address", "escape what is special in it as %XX"}
	}
	return problem{}
}
