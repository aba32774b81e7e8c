package config

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/setting"
)

// Values of enumerations, in the order of messages and the schema.
var (
	modes      = []string{"off", "audit", "enforce"}
	approvals  = []string{"untrusted", "on-request", "never", "granular"}
	sandboxes  = []string{"read-only", "workspace-write", "danger-full-access"}
	reviewers  = []string{"user", "auto_review", "guardian_subagent"}
	presets    = []string{setting.PresetYolo, setting.SecurityFull, setting.PresetGuardian, setting.ModeAuto, setting.ModeAsk}
	securities = []string{setting.SecurityDeny, setting.SecurityAllowlist, setting.SecurityFull}
	asks       = []string{setting.AskOff, setting.AskOnMiss, setting.AskAlways}
	decisions  = []string{"allow", "ask", "deny"}
	hookEvents = methods.RelayedEvents()
)

var (
	toolName  = newRegexp(`^[a-zA-Z0-9_-]{1,128}$`)
	namespace = newRegexp(`^[a-zA-Z0-9_-]{1,64}$`)
	plainName = newRegexp(`^[a-zA-Z0-9_.-]{1,64}$`)
	envName   = newRegexp(`^[^=\x00]+$`)
	version   = newRegexp(`^((0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-` + preRelease + `(\.` + preRelease + `)*)?)?$`)
	webURL    = newRegexp(`^https?://[^/]`)
	storeURL  = newRegexp(`^(postgres(ql)?://.+)?$`)
	fleetURL  = newRegexp(`^((postgres(ql)?://|https?://[^/]).+)?$`)
	otelURL   = newRegexp(`^(https?://[^/].*)?$`)
	bundleURL = newRegexp(`^(https://[^/].*|file:///.+)?$`)
	listenURL = newRegexp(`^(unix://(/.*)?|ws://.+:[0-9]+)$`)
	groupName = newRegexp(`^([a-zA-Z0-9_.-]{1,64})?$`)
	secretEnv = newRegexp(`^([A-Za-z_][A-Za-z0-9_]*)?$`)
	deskURL   = newRegexp(`^(https://[^/].*|http://(localhost|127\.0\.0\.1)(:[0-9]+)?(/.*)?)?$`)
	method    = newRegexp(`^[A-Za-z][A-Za-z0-9_/.$-]*$`)
	label     = newRegexp(`^[^\x00-\x1f\x7f-\x9f]{0,200}$`)
	until     = newRegexp(`^([0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2}))?)?$`)
)

// preRelease is an identifier of a pre-release, as Semantic Versioning has it.
const preRelease = `(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)`

const (
	ms   = int64(time.Millisecond)
	sec  = int64(time.Second)
	hour = int64(time.Hour)
)

// specs has a row for each key: its description and its valid values. Elements of a list are "key[]",
// entries of a map "key.*".
var specs = map[string]spec{
	"codex":                {doc: "The real Codex, which the bridge starts."},
	"codex.command":        {doc: "The real Codex: a name on PATH or a path.", filled: true, resolve: pathResolver.command},
	"codex.args":           {doc: "Flags that come before those of the client."},
	"codex.env":            {doc: "Variables to add to Codex's environment.", names: envName, nameWants: "a name without ="},
	"codex.env.*":          {secret: true},
	"codex.env_remove":     {doc: "Variables to remove from it."},
	"codex.env_remove[]":   {pattern: envName, wants: "a name without ="},
	"codex.min_version":    {doc: "The oldest Codex that the bridge accepts.", pattern: version, wants: `a version such as "0.125.0"`},
	"codex.max_version":    {doc: "The newest Codex that the bridge accepts; empty: no limit.", pattern: version, wants: `a version such as "0.171.0", or empty for no limit`},
	"codex.table":          {doc: "The file of a newer table of Codex's methods and fields.", resolve: pathResolver.file},
	"codex.shutdown_grace": {doc: "Time from the end of input to SIGTERM, and from SIGTERM to SIGKILL of Codex's processes.", minimum: 0, maximum: hour / 60},
	"codex.max_message":    {doc: "Longest message of the client, and longest message of Codex that the bridge keeps in memory.", minimum: int64(KiB), maximum: int64(GiB)},

	"policy":                   {doc: "What a client may ask of Codex."},
	"policy.mode":              {doc: "Forward everything; decide and log; or decide, change and refuse.", enum: modes},
	"policy.preset":            {doc: "Values of approval, sandbox and reviewers that the file does not set.", enum: presets},
	"policy.security":          {doc: "How freely Codex runs commands.", enum: securities},
	"policy.ask":               {doc: "When a person is asked about a command.", enum: asks},
	"policy.approval":          {doc: "Allowed approval policies. The first replaces a forbidden one that is not stricter; it can't be granular.", filled: true, first: approvals[:3]},
	"policy.approval[]":        {enum: approvals, hints: map[string]string{"on-failure": "Codex dropped it; use on-request"}},
	"policy.sandbox":           {doc: "The loosest sandbox allowed.", enum: sandboxes},
	"policy.network":           {doc: "Network inside the sandbox."},
	"policy.writable_roots":    {doc: "Folders that may be writable: absolute, or below ${workspace} or ~. No links."},
	"policy.writable_roots[]":  {resolve: pathResolver.root},
	"policy.reviewers":         {doc: "Allowed reviewers of approvals. The first replaces a forbidden one.", filled: true},
	"policy.reviewers[]":       {enum: reviewers},
	"policy.models":            {doc: "Globs of allowed models; empty: all. The first without wildcards replaces a forbidden or omitted one; without such a name, the first of Codex's list that fits."},
	"policy.models[]":          {filled: true, check: checkGlob},
	"policy.efforts":           {doc: "Allowed reasoning efforts; empty: all. The first replaces a forbidden one."},
	"policy.efforts[]":         {filled: true},
	"policy.config_keys":       {doc: "Dotted keys that a client may set, with the keys below them. Each segment is a glob; ** is any number of segments."},
	"policy.config_keys[]":     {filled: true, check: checkKeyGlob},
	"policy.commands":          {doc: "Globs of Codex commands that may run through the bridge, without its policy. A command that runs programs or turns, or serves others, must be written out."},
	"policy.commands[]":        {filled: true, check: checkWords},
	"policy.unknown_methods":   {doc: "Methods that the bridge does not know.", enum: []string{"deny", "allow"}},
	"policy.gate":              {doc: "The bridge asks in Codex's place under untrusted, so that accepted commands stay in the sandbox."},
	"policy.escalation":        {doc: "Actions that would leave the sandbox: ask the person, or refuse.", enum: []string{"deny", "ask"}},
	"policy.exec_rules":        {doc: "Where rules for commands decide, on Linux: auto: where a program starts, if the system can and no command may leave the sandbox; on: there, or no Codex starts; off: on lines alone.", enum: []string{"auto", "on", "off"}},
	"policy.protected_paths":   {doc: "Paths in each workspace and writable root whose change counts as leaving the sandbox. No patterns."},
	"policy.protected_paths[]": {resolve: pathResolver.protected},
	"policy.project_trust":     {doc: "When a repository's own .codex configuration counts: as Codex decides, in projects that you trust, or never.", enum: []string{"never", "user", "codex"}},
	"policy.methods":           {doc: "Verdicts that replace those of the method table.", names: method, nameWants: `a method such as "thread/shellCommand"`},
	"policy.methods.*":         {enum: decisions},
	"policy.rule":              {doc: "Rules for approvals and hooks. In a layer the first match decides; between layers the strictest."},
	"policy.rule[]":            {required: []string{"decision"}, anyOf: []string{"tool", "command", "path"}},
	"policy.rule[].tool":       {doc: "shell, file, mcp, a dynamic tool, or a glob.", filled: true, check: checkGlob},
	"policy.rule[].command":    {doc: "Words of a shell command: * is one word, ** any number.", filled: true, check: checkWords},
	"policy.rule[].path":       {doc: "Glob of changed files: absolute, or with ${workspace}, ~/ or **/ first.", filled: true, resolve: pathResolver.rulePath},
	"policy.rule[].escalated":  {doc: "Include commands that leave the sandbox. An allow rule with it applies to those only."},
	"policy.rule[].decision":   {doc: "The decision.", enum: decisions},
	"policy.rule[].reason":     {doc: "Text for each refusal by this rule."},
	"policy.rule[].owner":      {doc: "The person or team behind the rule; shown with its reason.", pattern: label, wants: "one line of up to 200 characters"},
	"policy.rule[].ticket":     {doc: "Where the rule was agreed; shown with its reason.", pattern: label, wants: "one line of up to 200 characters"},
	"policy.rule[].until":      {doc: "Last day (UTC) or time: then an allow rule ends; deny and ask hold, but hide no later rule.", pattern: until, wants: `a date such as "2026-12-31", or a time such as "2026-12-31T18:00:00Z"`, check: checkUntil},

	"policy.rule[].approvers":      {doc: "Group of which another person must approve, besides you. For ask rules with a command and no path.", pattern: groupName, wants: "1 to 64 letters, digits, _, . or -"},
	"policy.rule[].approver_count": {doc: "How many of them must approve; one without it.", minimum: 1, maximum: maxApprovers},

	"approvals":          {doc: "How the bridge remembers answers and waits for them."},
	"approvals.remember": {doc: "How long the bridge keeps an answer that you gave for longer than once.", enum: []string{"off", "session", "always"}},
	"approvals.ttl":      {doc: "How long a remembered answer counts.", minimum: ms, maximum: 8760 * hour},
	"approvals.max":      {doc: "Number of remembered answers.", minimum: 1, maximum: 1 << 20},
	"approvals.timeout":  {doc: "Without an answer in this time the bridge declines.", minimum: ms, maximum: 24 * hour},

	"approvals.desk":                    {doc: "The second person for rules with approvers."},
	"approvals.desk.runner":             {doc: "Public SSH keys (ed25519) of who runs this bridge; none can approve. Needed for rules with approvers."},
	"approvals.desk.runner[]":           {check: checkPublicKey},
	"approvals.desk.timeout":            {doc: "Without a signed answer in this time the bridge declines.", minimum: sec, maximum: 24 * hour},
	"approvals.desk.webhook":            {doc: "https address that gets each request, and may answer with signatures.", pattern: deskURL, wants: `an address such as "https://…"`, check: checkURL, secret: true},
	"approvals.desk.webhook_secret_env": {doc: "Environment variable with the secret for the webhook, which Codex does not get.", pattern: secretEnv, wants: "a name such as DESK_SECRET"},
	"approvals.desk.groups":             {doc: "Who may approve. A rule names a group of its own or an earlier layer.", names: plainName, nameWants: "1 to 64 letters, digits, _, . or -"},
	"approvals.desk.groups.*":           {required: []string{"keys"}},
	"approvals.desk.groups.*.keys":      {doc: "Public SSH keys (ed25519) of the members.", filled: true},
	"approvals.desk.groups.*.keys[]":    {check: checkPublicKey},

	"hooks":                   {doc: "Hooks in each thread. They are on if a file has this section or the policy enforces."},
	"hooks.events":            {doc: "Events with a hook."},
	"hooks.events[]":          {enum: hookEvents},
	"hooks.timeout":           {doc: "How long Codex waits for the hook.", minimum: ms, maximum: hour},
	"hooks.on_failure":        {doc: "Decision if the hook can't reach the bridge, or a handler or the client fails, at pre_tool_use and permission_request. At the others the user gets a warning.", enum: []string{"deny", "allow"}},
	"hooks.max_revisions":     {doc: "How often stop may ask for one more pass.", minimum: 1, maximum: 1000},
	"hooks.handler":           {doc: "Your own commands for hook events."},
	"hooks.handler[]":         {required: []string{"event", "command"}},
	"hooks.handler[].event":   {doc: "One of hooks.events.", enum: hookEvents},
	"hooks.handler[].command": {doc: "Program and arguments.", program: true},
	"hooks.handler[].timeout": {doc: "How long the handler may run.", minimum: ms, maximum: hour},

	"tools":                {doc: "Your own tools for the model, by name.", names: toolName, nameWants: "1 to 128 letters, digits, _ or -", nameCheck: checkToolName},
	"tools.*":              {required: []string{"description", "command"}},
	"tools.*.description":  {doc: "A description of the tool for the model.", filled: true},
	"tools.*.input_schema": {doc: "JSON Schema of the arguments, of type object, without references to other documents; by default no arguments.", schema: true},
	"tools.*.command":      {doc: "Program and arguments. The tool's arguments are JSON on stdin.", program: true},
	"tools.*.timeout":      {doc: "How long a call may run.", minimum: ms, maximum: hour},
	"tools.*.loading":      {doc: "The model gets the tool at once, or finds it by search in the namespace host.", enum: []string{Direct, Searchable}},

	"tool_servers":                    {doc: "Servers whose tools the bridge offers to the model, by name.", names: namespace, nameWants: "1 to 64 letters, digits, _ or -"},
	"tool_servers.*":                  {oneOf: []string{"command", "url"}},
	"tool_servers.*.command":          {doc: "The server's program and arguments.", program: true},
	"tool_servers.*.url":              {doc: "The server's http or https address.", pattern: webURL, wants: `an address such as "https://…"`, check: checkURL, secret: true},
	"tool_servers.*.protocol":         {doc: "MCP, or two JSON-RPC methods for a command.", enum: []string{"mcp", "jsonrpc"}},
	"tool_servers.*.bearer_token_env": {doc: "Environment variable with the token for url, which must have https or be on this machine.", pattern: envName, wants: "a name without ="},
	"tool_servers.*.loading":          {doc: "The model gets the tools at once, or finds them by search.", enum: []string{Direct, Searchable}},
	"tool_servers.*.namespace":        {doc: "The tools' namespace; empty: the server's name. Codex reserves names such as browser, functions, terminal, web.", pattern: namespace, wants: "a name of 1 to 64 letters, digits, _ or -", check: checkNamespace},

	"tool_limits":             {doc: "Limits of all tool calls."},
	"tool_limits.timeout":     {doc: "Time of a call that names none, up to max_timeout.", minimum: ms, maximum: hour},
	"tool_limits.max_timeout": {doc: "Longest time that a call may ask for.", minimum: ms, maximum: hour},
	"tool_limits.max_text":    {doc: "Characters of a result that the model sees.", minimum: 1, maximum: 1 << 24},
	"tool_limits.loops":       {doc: "Warn a model that repeats a call, then refuse the call."},

	"thread":                        {doc: "What the bridge adds to threads. Without this section it adds nothing."},
	"thread.service_name":           {doc: "Service name, if the client sends none."},
	"thread.developer_instructions": {doc: "Instructions before those of the client."},
	"thread.cron_instructions":      {doc: "Text for the model in a turn by a schedule; empty: a built-in text."},
	"thread.heartbeat_instructions": {doc: "Text for the model in a turn by a timer; empty: a built-in text."},
	"thread.config":                 {doc: "Codex configuration below the client's: the client's values win. No dates."},

	"thread.code_mode":      {doc: "Whether the model writes programs that call tools; overrides the client's features.code_mode. Most models do only that, also with off.", enum: []string{CodeModeOnly, CodeModeOff}},
	"thread.lightweight":    {doc: "Omit the project's own instructions (AGENTS.md); overrides the client. policy.config_keys must allow project_doc_max_bytes."},
	"thread.max_rollout":    {doc: "A session whose thread's file has this size gets another thread; 0: no limit.", minimum: 0, maximum: 1024 * int64(GiB)},
	"thread.on_stale_tools": {doc: "A resumed thread with other tools than now: warn, or fork it with the new tools.", enum: []string{Warn, Fork}},

	"steering":       {doc: "What a message does that comes during a turn."},
	"steering.mode":  {doc: "Join the running turn; start one turn after it with other waiting messages; start its own turn after it; or end it.", enum: []string{"steer", "followup", "queue", "interrupt"}},
	"steering.quiet": {doc: "How long the bridge collects messages before it sends them.", minimum: 0, maximum: hour / 60},

	"trace":           {doc: "Recorded traffic of threads."},
	"trace.enabled":   {doc: "Record traces."},
	"trace.max_event": {doc: "The bridge cuts longer events.", minimum: int64(KiB), maximum: int64(GiB)},
	"trace.max_file":  {doc: "A trace file ends at this size.", minimum: int64(KiB), maximum: 1024 * int64(GiB)},
	"trace.keep":      {doc: "How long a trace, or an agent's log, is kept after its last event; 0s: for good.", minimum: 0, maximum: 87600 * hour},

	"transcript":         {doc: "The searchable copy of threads."},
	"transcript.enabled": {doc: "Keep transcripts."},
	"transcript.keep":    {doc: "How long a record is kept; 0s: for good.", minimum: 0, maximum: 87600 * hour},

	"store":     {doc: "Where state is kept."},
	"store.url": {doc: "Empty: SQLite in the state folder. postgres://… shares the state between machines.", pattern: storeURL, wants: `an address such as "postgres://…", or empty for SQLite in the state folder`, check: checkURL, secret: true},

	"fleet":     {doc: "One log of the decisions of many bridges."},
	"fleet.url": {doc: "Also send decisions to postgres://… or to OTLP logs, https://…/v1/logs. Not together with store.url.", pattern: fleetURL, wants: `an address such as "postgres://…" or "https://…/v1/logs"`, check: checkFleetURL, secret: true},

	"otel":          {doc: "Export to an OpenTelemetry collector."},
	"otel.endpoint": {doc: "Collector for OTLP over HTTP in JSON, such as http://localhost:4318. Empty: OTEL_EXPORTER_OTLP_ENDPOINT, unless OTEL_EXPORTER_OTLP_PROTOCOL is grpc or OTEL_SDK_DISABLED is true.", pattern: otelURL, wants: `an address such as "http://localhost:4318"`, check: checkURL, secret: true},

	"otel.logs": {doc: "Decisions are OTLP logs too, with their rules and reasons, which may quote commands and paths."},

	"acp":                  {doc: "ACP agents that the bridge can start."},
	"acp.enabled":          {doc: "Agents may start."},
	"acp.default_agent":    {doc: "Agent of a request that names none."},
	"acp.allowed":          {doc: "Agents that may start; empty: all configured."},
	"acp.allowed[]":        {filled: true},
	"acp.agents":           {doc: "The agents, by id.", names: plainName, nameWants: "1 to 64 letters, digits, _, . or -"},
	"acp.agents.*":         {required: []string{"command"}},
	"acp.agents.*.command": {doc: "Program and arguments.", program: true},

	"compat":                {doc: "Files for bridges of several versions."},
	"compat.ignore_unknown": {doc: "In the managed file or a bundle only: a key that this version does not know is a warning, in all files. An entry that could allow more without it is left out, and an ask rule denies. Of an unknown value the strictest known one holds. Misspelt keys of these files stay errors."},

	"policy_source":          {doc: "A signed bundle, as a layer before the file that names it: the managed or the user file, of which the first counts."},
	"policy_source.url":      {doc: "The repository; empty: none.", pattern: bundleURL, wants: `an address such as "https://…" or "file:///…"`, check: checkURL, secret: true},
	"policy_source.root":     {doc: "The trusted root.json.", resolve: pathResolver.file},
	"policy_source.refresh":  {doc: "Time between two pulls.", minimum: sec, maximum: 168 * hour},
	"policy_source.max_age":  {doc: "Without a pull for so long a bundle is stale.", minimum: sec, maximum: 8760 * hour},
	"policy_source.on_stale": {doc: "A stale bundle stays in force, or nothing runs until the next pull.", enum: []string{KeepStale, DenyStale}},

	"serve":                {doc: "One Codex for several clients: codex-bridge serve."},
	"serve.mode":           {doc: "Whether app-server and the terminal interface join codex-bridge serve, which starts by itself: no; yes, or alone if that fails; or yes, or not at all.", enum: []string{OwnCodex, Join, MustJoin}},
	"serve.idle":           {doc: "A codex-bridge serve that started by itself ends so long after its last client; with control_socket never, unless it is for the policy files of a folder.", minimum: sec, maximum: 168 * hour},
	"serve.listen":         {doc: "Where clients connect: unix://PATH, unix:// for the default path, or ws://IP:PORT."},
	"serve.listen[]":       {filled: true, pattern: listenURL, wants: `unix://, unix://PATH with an absolute path, or ws://IP:PORT`},
	"serve.token_file":     {doc: "File with the token for ws://; it is written if it is missing. Empty: serve.token in the folder of the sockets."},
	"serve.control_socket": {doc: "codex-bridge serve also listens where Codex's daemon would, so that a codex that the bridge does not start uses it."},
	"serve.answer":         {doc: "The client that answers questions about a turn: the one that began it, or any that has opened the thread.", enum: []string{Starter, AnyClient}},

	"image":         {doc: "Descriptions of images."},
	"image.model":   {doc: "Empty: the first listed model that takes images."},
	"image.timeout": {doc: "Time of a description with Codex's start. Less than 100ms counts as 100ms.", minimum: ms, maximum: hour},
}

// IsSetting reports whether a rule of a decision is the key of a setting, also of an entry: policy.methods."turn/start".
func IsSetting(rule string) bool {
	_, known := specs[rule]
	return known || strings.HasPrefix(rule, "policy.methods.") || strings.HasPrefix(rule, "policy.rule.")
}

// checkToolName refuses the names that Codex refuses.
func checkToolName(s string) *Error {
	if s == "mcp" || strings.HasPrefix(s, "mcp__") {
		return newError(quote(s)+" is a reserved name", "choose a name that isn't mcp and does not begin with mcp__")
	}
	return nil
}

// reservedNamespaces are those that Codex refuses (measured with 0.169.0).
var reservedNamespaces = []string{
	"api_tool", "browser", "computer", "container", "file_search", "functions", "image_gen", "multi_tool_use",
	"python", "python_user_visible", "submodel_delegator", "terminal", "tool_search", "web",
}

// ReservedNamespace reports whether Codex reserves a namespace of tools.
func ReservedNamespace(s string) bool { return slices.Contains(reservedNamespaces, s) }

func checkNamespace(s string) *Error {
	if ReservedNamespace(s) {
		return newError(quote(s)+" is reserved by Codex", "choose another namespace")
	}
	return nil
}

// checkProtocol refuses JSON-RPC for a server with an address.
func checkProtocol(s ToolServer) *Error {
	if s.Protocol == "jsonrpc" && s.URL != "" {
		return newError(`"jsonrpc" needs a command`, "remove it, since a server with an address uses MCP")
	}
	return nil
}

// checkToken refuses a token that the bridge would send over the network without encryption.
func checkToken(s ToolServer) *Error {
	if s.BearerTokenEnv == "" {
		return nil
	}
	if s.URL == "" {
		return newError("needs url", "remove it, since a command gets its secrets from its environment")
	}
	address, _ := url.Parse(s.URL) // checkURL reports an invalid address
	if address == nil || isPrivate(address) {
		return nil
	}
	return newError("the bridge would send the token without encryption", "use https, or an address of this machine")
}

// isPrivate reports whether data for an HTTP address is encrypted or stays on this machine.
func isPrivate(address *url.URL) bool {
	host := address.Hostname()
	ip, err := netip.ParseAddr(host)
	return address.Scheme == "https" || host == "localhost" || err == nil && ip.IsLoopback()
}

// checkFleetURL checks an address of a fleet log.
func checkFleetURL(v string) *Error {
	if e := checkURL(v); e != nil {
		return e
	}
	address, _ := url.Parse(v)
	switch {
	case !strings.HasPrefix(address.Scheme, "http"):
		return nil
	case !isPrivate(address):
		return newError("the bridge would send decisions without encryption", "use https, or an address of this machine")
	case !strings.HasSuffix(v, "/v1/logs"):
		return newError("the address does not end in /v1/logs", "write the address of the endpoint for logs")
	}
	return nil
}

// checkURL checks an address. The error does not show it, since it may have a password.
func checkURL(v string) *Error {
	if _, err := url.Parse(v); err != nil {
		return newError("not a valid address", "escape special characters as %XX")
	}
	return nil
}
