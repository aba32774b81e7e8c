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
	"codex":                {doc: "The real codex, run as a child."},
	"codex.command":        {doc: "The real codex: a name for PATH or a path.", filled: true, resolve: from.command},
	"codex.args":           {doc: "Put before the client's own flags."},
	"codex.env":            {doc: "Added to the child's environment.", names: envName, nameWants: "a name without ="},
	"codex.env.*":          {secret: true},
	"codex.env_remove":     {doc: "Names taken out of the child's environment."},
	"codex.env_remove[]":   {pattern: envName, wants: "a name without ="},
	"codex.min_version":    {doc: "The oldest codex that is accepted. Empty stands for the default.", pattern: version, wants: `a version such as "0.125.0"`},
	"codex.shutdown_grace": {doc: "Between end of input, SIGTERM and SIGKILL of the whole tree.", least: 0, most: hour / 60},
	"codex.max_message":    {doc: "The longest message that is gathered.", least: int64(KiB), most: int64(GiB)},

	"policy":                   {doc: "What a client may ask of codex."},
	"policy.mode":              {doc: "off passes everything, audit decides and logs, enforce decides, rewrites and refuses. Off without a [policy] section; enforce in one that does not say.", enum: modes},
	"policy.preset":            {doc: "Values for approval, sandbox and reviewers that no file sets: yolo asks nothing and holds nothing back, guardian has a model review what leaves the workspace; full, auto and ask are short for a security and an ask.", enum: presets},
	"policy.security":          {doc: "How freely commands are run; with ask it forces approval, sandbox and reviewers. Codex runs commands, so deny and allowlist need an ask.", enum: securities},
	"policy.ask":               {doc: "When somebody is asked about a command; on-miss is about what the sandbox does not let through.", enum: asks},
	"policy.approval":          {doc: "Allowed approval policies; the first is put in place of a forbidden one.", filled: true, first: approvals[:3]},
	"policy.approval[]":        {enum: approvals, hints: map[string]string{"on-failure": "Codex dropped it; use on-request"}},
	"policy.sandbox":           {doc: "The most that is allowed.", enum: sandboxes},
	"policy.network":           {doc: "Network inside the sandbox."},
	"policy.writable_roots":    {doc: "Folders that may be writable: absolute, or below ${workspace} or ~."},
	"policy.writable_roots[]":  {resolve: from.root},
	"policy.reviewers":         {doc: "Allowed approval reviewers; the first is put in place of a forbidden one.", filled: true},
	"policy.reviewers[]":       {enum: reviewers},
	"policy.models":            {doc: "Globs of allowed models; empty allows all. The first without wildcards is put in place of a forbidden one."},
	"policy.models[]":          {filled: true, check: checkGlob},
	"policy.efforts":           {doc: "Allowed reasoning efforts; empty allows all."},
	"policy.efforts[]":         {filled: true},
	"policy.config_keys":       {doc: "Globs of dotted configuration keys that a client may overlay, segment by segment, with what is below them; others are taken out."},
	"policy.config_keys[]":     {filled: true, check: checkKeyGlob},
	"policy.commands":          {doc: "Globs of codex commands that may be reached through the bridge."},
	"policy.commands[]":        {filled: true, check: checkCommandGlob},
	"policy.unknown_methods":   {doc: "What happens to methods that the bridge's table does not know.", enum: []string{"deny", "allow"}},
	"policy.gate":              {doc: "Ask in codex's place where a client wants to be asked about everything: what is accepted then stays in the sandbox."},
	"policy.escalation":        {doc: "What would leave the sandbox: refused, or asked of the person.", enum: []string{"deny", "ask"}},
	"policy.protected_paths":   {doc: "Files and folders in every workspace whose change counts as leaving the sandbox."},
	"policy.protected_paths[]": {resolve: from.protected},
	"policy.project_trust":     {doc: "Whether a repository's own .codex configuration counts: never, for projects the user already trusts, or as Codex does.", enum: []string{"never", "user", "codex"}},
	"policy.methods":           {doc: "Overrides of the built-in method table.", names: method, nameWants: `a method such as "thread/shellCommand"`},
	"policy.methods.*":         {enum: decisions},
	"policy.rule":              {doc: "Rules for approvals and hooks; in a layer the first match wins, between layers deny beats allow."},
	"policy.rule[]":            {required: []string{"decision"}, anyOf: []string{"tool", "command", "path"}},
	"policy.rule[].tool":       {doc: "shell, file, mcp, a dynamic tool's name, or a glob.", filled: true, check: checkGlob},
	"policy.rule[].command":    {doc: "Words of a simple shell command: * is one word, ** any rest.", filled: true, check: checkWords},
	"policy.rule[].path":       {doc: "A glob of changed files: absolute, or beginning with ${workspace}, ~ or **/.", filled: true, resolve: from.rulePath},
	"policy.rule[].escalated":  {doc: "The rule also speaks of commands that leave the sandbox; an allow rule speaks of those only."},
	"policy.rule[].decision":   {doc: "What the rule decides.", enum: decisions},
	"policy.rule[].reason":     {doc: "Shown with each refusal by this rule."},

	"approvals":          {doc: "How long answers are remembered and waited for."},
	"approvals.remember": {doc: "How long an answer given for longer is kept.", enum: []string{"off", "session", "always"}},
	"approvals.ttl":      {doc: "How long a remembered answer counts.", least: ms, most: 8760 * hour},
	"approvals.max":      {doc: "How many answers are remembered.", least: 1, most: 1 << 20},
	"approvals.timeout":  {doc: "How long an answer is waited for; none means decline.", least: ms, most: 24 * hour},

	"hooks":                   {doc: "Native hooks. On when the section is there or policy enforces."},
	"hooks.events":            {doc: "The events that are hooked."},
	"hooks.events[]":          {enum: hookEvents},
	"hooks.timeout":           {doc: "How long codex waits for the hook.", least: ms, most: hour},
	"hooks.on_failure":        {doc: "What counts when relay or handler cannot be reached.", enum: []string{"deny", "allow"}},
	"hooks.max_revisions":     {doc: "How often stop may ask for one more pass.", least: 1, most: 1000},
	"hooks.handler":           {doc: "Commands of the host for hook events."},
	"hooks.handler[]":         {required: []string{"event", "command"}},
	"hooks.handler[].event":   {doc: "The event; it must be one of hooks.events.", enum: hookEvents},
	"hooks.handler[].command": {doc: "The program and its arguments.", program: true},
	"hooks.handler[].timeout": {doc: "How long the handler may run.", least: ms, most: hour},

	"tools":                {doc: "Dynamic tools of the host, by name.", names: toolName, nameWants: "1 to 128 letters, digits, _ or -", nameCheck: checkToolName},
	"tools.*":              {required: []string{"description", "command"}},
	"tools.*.description":  {doc: "What the model is told of the tool.", filled: true},
	"tools.*.input_schema": {doc: "A JSON Schema of type object for the arguments.", schema: true},
	"tools.*.command":      {doc: "The program and its arguments; the tool's arguments come as JSON on stdin.", program: true},
	"tools.*.timeout":      {doc: "How long a call may run.", least: ms, most: hour},
	"tools.*.loading":      {doc: "Whether the model is told of the tool at once, or finds it by search.", enum: []string{Direct, Searchable}},

	"tool_servers":                    {doc: "Servers whose tools are offered as dynamic tools, by name.", names: namespace, nameWants: "1 to 64 letters, digits, _ or -"},
	"tool_servers.*":                  {oneOf: []string{"command", "url"}},
	"tool_servers.*.command":          {doc: "The server's program and its arguments.", program: true},
	"tool_servers.*.url":              {doc: "The server's address.", pattern: webURL, wants: `an address such as "https://…"`, check: checkURL, secret: true},
	"tool_servers.*.protocol":         {doc: "What the server speaks: MCP, or the bridge's own two methods in JSON-RPC, which is for a command only.", enum: []string{"mcp", "jsonrpc"}},
	"tool_servers.*.bearer_token_env": {doc: "The variable of the bridge's environment with the token for the address.", pattern: envName, wants: "a name without ="},
	"tool_servers.*.loading":          {doc: "Whether the model is told of the tools at once, or finds them by search.", enum: []string{Direct, Searchable}},
	"tool_servers.*.namespace":        {doc: "The tools' namespace; the server's name when left out.", pattern: namespace, wants: "a name of 1 to 64 letters, digits, _ or -", check: checkNamespace},

	"tool_limits":             {doc: "Bounds of all tool calls."},
	"tool_limits.timeout":     {doc: "Of a call that names none.", least: ms, most: hour},
	"tool_limits.max_timeout": {doc: "The most a call may ask for.", least: ms, most: hour},
	"tool_limits.max_text":    {doc: "Characters of a result that the model sees.", least: 1, most: 1 << 24},
	"tool_limits.loops":       {doc: "Whether a model that makes the same call again and again is warned, and then refused."},

	"thread":                        {doc: "What the bridge adds to every new thread."},
	"thread.service_name":           {doc: "The service name that threads are started with."},
	"thread.developer_instructions": {doc: "Put before the client's."},
	"thread.cron_instructions":      {doc: "What the model is told of a turn that a schedule has started, in place of the bridge's own words."},
	"thread.heartbeat_instructions": {doc: "What the model is told of a turn that a timer has started, in place of the bridge's own words."},
	"thread.config":                 {doc: "Merged into every thread's config."},

	"thread.code_mode":      {doc: "Whether the model writes programs that call the tools: only, off, or as Codex and the client have it.", enum: []string{CodeModeOnly, CodeModeOff}},
	"thread.lightweight":    {doc: "Threads are not told the project's own instructions (AGENTS.md)."},
	"thread.max_rollout":    {doc: "A session whose thread's file has grown to this gets another thread; 0 is no limit.", least: 0, most: 1024 * int64(GiB)},
	"thread.on_stale_tools": {doc: "A thread that is resumed and was started with other tools than there are now: warn of it, or fork it, so that it has them.", enum: []string{Warn, Fork}},

	"steering":       {doc: "What input does that comes during a turn."},
	"steering.mode":  {doc: "steer joins the running turn, followup starts one after it, queue waits in line, interrupt stops it.", enum: []string{"steer", "followup", "queue", "interrupt"}},
	"steering.quiet": {doc: "How long input is gathered before it is sent.", least: 0, most: hour / 60},

	"trace":           {doc: "Captured trajectories."},
	"trace.enabled":   {doc: "Whether they are written."},
	"trace.max_event": {doc: "Longer events are cut.", least: int64(KiB), most: int64(GiB)},
	"trace.max_file":  {doc: "Where a file ends.", least: int64(KiB), most: 1024 * int64(GiB)},
	"trace.keep":      {doc: "How long a file is kept after its last event; 0s keeps it for good.", least: 0, most: 87600 * hour},

	"transcript":         {doc: "The searchable mirror of conversations."},
	"transcript.enabled": {doc: "Whether it is kept."},
	"transcript.keep":    {doc: "How long a record is kept; 0s keeps it for good.", least: 0, most: 87600 * hour},

	"store":     {doc: "Where state is kept."},
	"store.url": {doc: "Empty: SQLite in the state folder. postgres://… shares it between machines.", pattern: storeURL, wants: `an address such as "postgres://…", or empty for SQLite in the state folder`, check: checkURL, secret: true},

	"otel":          {doc: "What is exported to an OpenTelemetry collector."},
	"otel.endpoint": {doc: "The collector's address, for OTLP over HTTP in JSON; empty: OTEL_EXPORTER_OTLP_ENDPOINT, or nothing is sent.", pattern: otelURL, wants: `an address such as "http://localhost:4318"`, check: checkURL, secret: true},

	"acp":                  {doc: "ACP agents that can be started as children."},
	"acp.enabled":          {doc: "Whether they can."},
	"acp.default_agent":    {doc: "The agent when a request names none."},
	"acp.allowed":          {doc: "Agents that may be started; empty allows all that are configured."},
	"acp.allowed[]":        {filled: true},
	"acp.agents":           {doc: "The agents, by id.", names: plainName, nameWants: "1 to 64 letters, digits, _, . or -"},
	"acp.agents.*":         {required: []string{"command"}},
	"acp.agents.*.command": {doc: "The agent's program and its arguments.", program: true},

	"image":         {doc: "The bounded image worker."},
	"image.model":   {doc: "Empty: the first listed model that takes images."},
	"image.timeout": {doc: "How long a description may take.", least: ms, most: hour},
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
