// Package config loads the bridge's configuration: TOML files in up to three layers (managed, user,
// workspace), and before the file that names it the bundle of a policy source. A later layer may only tighten
// the policy.
//
// A Config from Load is complete and valid: Load knows each key and has checked each value. Otherwise Load
// returns errors with file, line, column and a suggested fix. No layer loosens an earlier one: a looser value
// has no effect, and Warnings has it.
// Load does not check whether programs and folders in the configuration exist.
//
// Nothing changes a Config after Load returns it, so goroutines may share it. All functions may be
// called concurrently. Each call of Load reads the files anew. Watch runs in the goroutine of its
// caller.
package config

import (
	"path/filepath"
	"slices"
	"strings"
)

// Config is the configuration after all layers. Default has the values of keys that no file sets.
type Config struct {
	Codex       Codex                 `toml:"codex"`
	Policy      Policy                `toml:"policy"`
	Approvals   Approvals             `toml:"approvals"`
	Hooks       Hooks                 `toml:"hooks"`
	Tools       map[string]Tool       `toml:"tools"`        // by name
	ToolServers map[string]ToolServer `toml:"tool_servers"` // by name
	ToolLimits  ToolLimits            `toml:"tool_limits"`
	Thread      Thread                `toml:"thread"`
	Steering    Steering              `toml:"steering"`
	Trace       Trace                 `toml:"trace"`
	Transcript  Transcript            `toml:"transcript"`
	Store       Store                 `toml:"store"`
	Fleet       Fleet                 `toml:"fleet"`
	Otel        Otel                  `toml:"otel"`
	ACP         ACP                   `toml:"acp"`
	Image       Image                 `toml:"image"`
	Serve       Serve                 `toml:"serve"`
	Compat      Compat                `toml:"compat"`

	PolicySource PolicySource `toml:"policy_source"`

	files   []string          // in the order of the layers
	bundles int               // number of bundles that are layers
	origins map[string]Origin // by key
	sources []source          // the content that counts
	read    string            // the digest of all files, with those that are not valid
	invalid error             // of those
	skipped bool              // whether one of those has no content that counts

	warnings []*Error
}

// Warnings returns what in the files has no effect: values of later layers that are looser than those of
// earlier ones, and keys that Compat.IgnoreUnknown lets pass.
func (c *Config) Warnings() []*Error { return slices.Clone(c.warnings) }

// Compat is the [compat] section, for the managed file and bundles only.
type Compat struct {
	// IgnoreUnknown makes unknown keys of all layers warnings, as those of a newer version.
	IgnoreUnknown bool `toml:"ignore_unknown"`
}

// Codex is the [codex] section: the Codex process and its limits.
type Codex struct {
	Command       string            `toml:"command"`    // a name for PATH, or an absolute path
	Args          []string          `toml:"args"`       // flags before those of the client
	Env           map[string]string `toml:"env"`        // variables to add to Codex's environment
	EnvRemove     []string          `toml:"env_remove"` // variables to remove from it
	MinVersion    string            `toml:"min_version"`
	MaxVersion    string            `toml:"max_version"`    // "" means no limit
	Table         string            `toml:"table"`          // the file of a newer table of Codex's methods; see Policy.Newer
	ShutdownGrace Duration          `toml:"shutdown_grace"` // from end of input to SIGTERM, and from there to SIGKILL
	MaxMessage    Size              `toml:"max_message"`    // maximum length of a message in memory
}

// Approvals is the [approvals] section: how the bridge remembers answers and waits for them.
type Approvals struct {
	Remember string   `toml:"remember"` // "off" | "session" | "always"
	TTL      Duration `toml:"ttl"`
	Max      int      `toml:"max"`
	Timeout  Duration `toml:"timeout"` // the bridge declines after this time
	Desk     Desk     `toml:"desk"`
}

// Desk is the [approvals.desk] section: the second person for rules with approvers.
type Desk struct {
	Runner  []string         `toml:"runner"` // public SSH keys of the person who runs the bridge
	Timeout Duration         `toml:"timeout"`
	Webhook string           `toml:"webhook"` // may have a password, never print it
	Secret  string           `toml:"webhook_secret_env"`
	Groups  map[string]Group `toml:"groups"` // by name
}

// Group is one [approvals.desk.groups.NAME].
type Group struct {
	Keys []string `toml:"keys"` // public SSH keys of its members
}

// Hooks is the [hooks] section.
type Hooks struct {
	// On is true if a file has a [hooks] section or the policy enforces.
	On           bool      `toml:"-"`
	Events       []string  `toml:"events"` // see bridge/methods/hooks.txt
	Timeout      Duration  `toml:"timeout"`
	OnFailure    string    `toml:"on_failure"` // "deny" | "allow"
	MaxRevisions int       `toml:"max_revisions"`
	Handlers     []Handler `toml:"handler"`
}

// Handler is one [[hooks.handler]]: a command for an event.
type Handler struct {
	Event   string   `toml:"event"`
	Command []string `toml:"command"`
	Timeout Duration `toml:"timeout"`

	Origin Origin `toml:"-"` // the place in a file
}

// Tool is one [tools.NAME]: a dynamic tool that is a command.
type Tool struct {
	Description string         `toml:"description"`
	InputSchema map[string]any `toml:"input_schema"` // a JSON Schema of type object
	Command     []string       `toml:"command"`      // gets the arguments as JSON on stdin
	Timeout     Duration       `toml:"timeout"`
	Loading     string         `toml:"loading"` // "direct" | "searchable"
}

// Values of Loading.
const (
	Direct     = "direct"     // the model gets the tool at once
	Searchable = "searchable" // the model finds the tool by search
)

// ToolServer is one [tool_servers.NAME]: a server of tools, by command or by URL.
type ToolServer struct {
	Command        []string `toml:"command"`
	URL            string   `toml:"url"`
	Protocol       string   `toml:"protocol"`         // "mcp" | "jsonrpc"; a server with a URL uses "mcp"
	BearerTokenEnv string   `toml:"bearer_token_env"` // environment variable with the token for URL
	Namespace      string   `toml:"namespace"`        // the server's name by default
	Loading        string   `toml:"loading"`          // "direct" | "searchable"
}

// ToolLimits is the [tool_limits] section.
type ToolLimits struct {
	Timeout    Duration `toml:"timeout"`     // of a call without a timeout
	MaxTimeout Duration `toml:"max_timeout"` // maximum timeout of a call
	MaxText    int      `toml:"max_text"`    // maximum length of a result, in characters
	Loops      bool     `toml:"loops"`       // warn about repeated calls, then refuse them
}

// Thread is the [thread] section: additions to each thread.
type Thread struct {
	ServiceName           string         `toml:"service_name"`
	DeveloperInstructions string         `toml:"developer_instructions"` // before those of the client
	Config                map[string]any `toml:"config"`                 // the client's values win
	CronInstructions      string         `toml:"cron_instructions"`      // for turns by a schedule; "" for the built-in text
	HeartbeatInstructions string         `toml:"heartbeat_instructions"` // for turns by a timer; "" for the built-in text
	OnStaleTools          string         `toml:"on_stale_tools"`         // "warn" | "fork"
	CodeMode              string         `toml:"code_mode"`              // "" | "only" | "off"
	Lightweight           bool           `toml:"lightweight"`            // omit the project's instructions
	MaxRollout            Size           `toml:"max_rollout"`            // maximum size of the file of a session's thread; 0 for no limit

	// On is true if a file has the section. Otherwise the bridge adds nothing.
	On bool `toml:"-"`
}

// Values of OnStaleTools, for a resumed thread with other tools than now.
const (
	Warn = "warn" // warn the client
	Fork = "fork" // fork the thread with the new tools
)

// Values of CodeMode: whether the model writes programs that call tools. "" keeps Codex's choice.
const (
	CodeModeOnly = "only"
	CodeModeOff  = "off"
)

// Steering is the [steering] section: messages during a turn.
type Steering struct {
	Mode  string   `toml:"mode"` // steer | followup | queue | interrupt
	Quiet Duration `toml:"quiet"`
}

// Trace is the [trace] section.
type Trace struct {
	Enabled  bool     `toml:"enabled"`
	MaxEvent Size     `toml:"max_event"`
	MaxFile  Size     `toml:"max_file"`
	Keep     Duration `toml:"keep"` // after the last event of a file; 0 for no limit
}

// Transcript is the [transcript] section.
type Transcript struct {
	Enabled bool     `toml:"enabled"`
	Keep    Duration `toml:"keep"` // of a record; 0 for no limit
}

// Store is the [store] section.
type Store struct {
	URL string `toml:"url"` // empty for SQLite in the state folder; may have a password, never print it
}

// Fleet is the [fleet] section.
type Fleet struct {
	URL string `toml:"url"` // of the fleet log; empty for none; may have a password, never print it
}

// Otel is the [otel] section.
type Otel struct {
	Endpoint string `toml:"endpoint"` // of a collector; empty for none; may have a password, never print it
	Logs     bool   `toml:"logs"`     // decisions are logs too
}

// ACP is the [acp] section: agents that the bridge can start.
type ACP struct {
	Enabled      bool             `toml:"enabled"`
	DefaultAgent string           `toml:"default_agent"`
	Allowed      []string         `toml:"allowed"` // nil for all configured agents
	Agents       map[string]Agent `toml:"agents"`  // by id
}

// Agent is one [acp.agents.NAME].
type Agent struct {
	Command []string `toml:"command"`
}

// Image is the [image] section: descriptions of images.
type Image struct {
	Model   string   `toml:"model"` // empty for the first model that takes images
	Timeout Duration `toml:"timeout"`
}

// Serve is the [serve] section: one Codex for several clients.
type Serve struct {
	Mode      string   `toml:"mode"`
	Idle      Duration `toml:"idle"`
	Listen    []string `toml:"listen"`
	TokenFile string   `toml:"token_file"` // empty for serve.token in the folder of the sockets
	// ControlSocket means that codex-bridge serve takes the place of Codex's daemon.
	ControlSocket bool   `toml:"control_socket"`
	Answer        string `toml:"answer"`
}

// Places returns the folders of the sockets, and the token file.
func (s Serve) Places() (places []string) {
	if s.TokenFile != "" {
		places = append(places, s.TokenFile)
	}
	for _, address := range s.Listen {
		if path := strings.TrimPrefix(address, "unix://"); filepath.IsAbs(path) {
			places = append(places, filepath.Dir(path))
		}
	}
	return places
}

// The values of serve.mode: whether app-server and the terminal interface join codex-bridge serve.
const (
	OwnCodex = "off"     // each has a Codex of its own
	Join     = "auto"    // they join, or have a Codex of their own if that fails
	MustJoin = "require" // they join, or fail
)

// The values of serve.answer: who answers Codex's questions about a turn.
const (
	Starter   = "starter" // the client that began the turn
	AnyClient = "any"     // each client that has opened the thread; the first answer counts
)

// Files returns the files that Load has read, managed first. Bundles are no files.
func (c *Config) Files() []string { return append([]string(nil), c.files...) }

// Mode is what the bridge does with its decisions.
type Mode string

const (
	// Off forwards all messages. It is the default without a [policy] section.
	Off Mode = "off"
	// Audit decides and logs, but changes nothing.
	Audit Mode = "audit"
	// Enforce decides, changes and refuses. It is the default of a [policy] section.
	Enforce Mode = "enforce"
)

// Policy is the [policy] section: the requests that a client may send. Default has the default
// values; the zero value is not useful.
type Policy struct {
	Mode           Mode              `toml:"mode"`
	Preset         string            `toml:"preset"`          // "" | "yolo" | "full" | "guardian" | "auto" | "ask": values of approval, sandbox and reviewers
	Security       string            `toml:"security"`        // "" | "deny" | "allowlist" | "full"
	Ask            string            `toml:"ask"`             // "" | "off" | "on-miss" | "always"
	Approval       []string          `toml:"approval"`        // allowed approval policies; the first replaces a forbidden one
	Sandbox        string            `toml:"sandbox"`         // the loosest allowed: read-only < workspace-write < danger-full-access
	Network        bool              `toml:"network"`         // network inside the sandbox
	WritableRoots  []string          `toml:"writable_roots"`  // absolute, or below ${workspace}
	Reviewers      []string          `toml:"reviewers"`       // allowed approvalsReviewer values; the first replaces a forbidden one
	Models         []string          `toml:"models"`          // globs; nil for all; the first without wildcards replaces a forbidden one
	Efforts        []string          `toml:"efforts"`         // nil for all
	ConfigKeys     []string          `toml:"config_keys"`     // globs of dotted keys that a client may set
	Commands       []string          `toml:"commands"`        // globs of allowed commands of Codex
	UnknownMethods string            `toml:"unknown_methods"` // "deny" | "allow"
	Gate           bool              `toml:"gate"`
	Escalation     string            `toml:"escalation"` // "deny" | "ask"
	ExecRules      string            `toml:"exec_rules"` // "auto" | "on" | "off": rules for commands decide where a program starts
	ProtectedPaths []string          `toml:"protected_paths"`
	ProjectTrust   string            `toml:"project_trust"` // "never" | "user" | "codex"
	Methods        map[string]string `toml:"methods"`       // method → "allow" | "deny" | "ask"
	Rules          []Rule            `toml:"rule"`

	// Missing says why the bundle of [policy_source] does not count, and how to fix that. Then no thread opens
	// and no turn begins. It is "" if there is no source, or if its bundle counts.
	Missing string `toml:"-"`
	// Newer is the newer table of Codex's methods that codex.table or a bundle names.
	Newer NewerTable `toml:"-"`
	// FromWorkspace reports that a file of a workspace sets a part of the policy.
	FromWorkspace bool `toml:"-"`
}

// Rule is one [[policy.rule]]. In a layer the first match decides; between layers the strictest.
type Rule struct {
	Tool      string `toml:"tool"`      // shell | file | mcp | a dynamic tool's name | glob
	Command   string `toml:"command"`   // words of a shell command; * is one word, ** any number
	Path      string `toml:"path"`      // glob of changed files
	Escalated bool   `toml:"escalated"` // include commands that leave the sandbox
	Decision  string `toml:"decision"`  // deny | allow | ask
	Reason    string `toml:"reason"`
	Owner     string `toml:"owner"`
	Ticket    string `toml:"ticket"`
	Until     string `toml:"until"`     // an RFC 3339 date or time; after it, the rule no longer allows
	Approvers string `toml:"approvers"` // the group of which other people must approve; "" for none
	// ApproverCount is how many of them must approve; 0 for one.
	ApproverCount int `toml:"approver_count"`

	// Origin is the place in a file. RuleLayers groups rules by it.
	Origin Origin `toml:"-"`
}

// RuleLayers returns the rules by file, managed first, in the order of the files. It omits files without
// rules.
func (p *Policy) RuleLayers() [][]Rule {
	var groups [][]Rule
	for i, r := range p.Rules {
		if i == 0 || r.Origin.Layer != p.Rules[i-1].Origin.Layer || r.Origin.File != p.Rules[i-1].Origin.File {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], r)
	}
	return groups
}
