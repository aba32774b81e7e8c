// Package config reads the bridge's configuration: TOML in up to three layers
// (managed, user, workspace), of which a later one may only tighten policy.
//
// It promises that a Config it hands out is whole and valid: every key is
// known, every value has been checked, and no layer has loosened an earlier
// one. Anything else is an error that names file, line and column and says how
// to mend it. It does not promise that the programs and folders named in a
// configuration exist.
//
// A Config is not changed after Load returns, so any number of goroutines may
// read it. Load may be called concurrently; each call reads the files anew.
package config

// Config is one merged configuration. Default gives the values that keys have
// when no file sets them.
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
	Otel        Otel                  `toml:"otel"`
	ACP         ACP                   `toml:"acp"`
	Image       Image                 `toml:"image"`

	files   []string          // that were read, in layer order
	origins map[string]Origin // by key, what decided its value
	digest  string            // of what the files said
	invalid error             // see Invalid
}

// Codex is the [codex] section: the child and its limits.
type Codex struct {
	Command       string            `toml:"command"`    // a name for PATH, or an absolute path
	Args          []string          `toml:"args"`       // put before the client's own flags
	Env           map[string]string `toml:"env"`        // added to the child's environment
	EnvRemove     []string          `toml:"env_remove"` // taken out of it
	MinVersion    string            `toml:"min_version"`
	ShutdownGrace Duration          `toml:"shutdown_grace"` // between EOF, SIGTERM and SIGKILL
	MaxMessage    Size              `toml:"max_message"`    // the longest line that is gathered
}

// Approvals is the [approvals] section: how long answers are remembered and
// waited for.
type Approvals struct {
	Remember string   `toml:"remember"` // "off" | "session" | "always"
	TTL      Duration `toml:"ttl"`
	Max      int      `toml:"max"`
	Timeout  Duration `toml:"timeout"` // no answer = decline
}

// Hooks is the [hooks] section.
type Hooks struct {
	// On is true when a file has a [hooks] section or policy enforces.
	On           bool      `toml:"-"`
	Events       []string  `toml:"events"` // pre_tool_use | post_tool_use | stop | permission_request
	Timeout      Duration  `toml:"timeout"`
	OnFailure    string    `toml:"on_failure"` // "deny" | "allow"
	MaxRevisions int       `toml:"max_revisions"`
	Handlers     []Handler `toml:"handler"`
}

// Handler is one [[hooks.handler]]: a command of the host for an event.
type Handler struct {
	Event   string   `toml:"event"`
	Command []string `toml:"command"`
	Timeout Duration `toml:"timeout"`

	Origin Origin `toml:"-"` // where it is written
}

// Tool is one [tools.NAME]: a dynamic tool that is a command of the host.
type Tool struct {
	Description string         `toml:"description"`
	InputSchema map[string]any `toml:"input_schema"` // a JSON Schema of type object
	Command     []string       `toml:"command"`      // arguments as JSON on stdin
	Timeout     Duration       `toml:"timeout"`
	Loading     string         `toml:"loading"` // "direct" | "searchable"
}

// How the model comes to know of a tool.
const (
	Direct     = "direct"     // it is told at once
	Searchable = "searchable" // it finds it by search
)

// ToolServer is one [tool_servers.NAME]: a server of tools, by command or by URL.
type ToolServer struct {
	Command        []string `toml:"command"`
	URL            string   `toml:"url"`
	Protocol       string   `toml:"protocol"`         // "mcp" | "jsonrpc", which is for a command only
	BearerTokenEnv string   `toml:"bearer_token_env"` // a variable of the bridge's environment, for a URL only
	Namespace      string   `toml:"namespace"`        // the server's name when left out
	Loading        string   `toml:"loading"`          // "direct" | "searchable"
}

// ToolLimits is the [tool_limits] section.
type ToolLimits struct {
	Timeout    Duration `toml:"timeout"`     // of a call that names none
	MaxTimeout Duration `toml:"max_timeout"` // the most a call may ask for
	MaxText    int      `toml:"max_text"`    // characters of a result
	Loops      bool     `toml:"loops"`       // whether calls that go round in circles are warned about, and refused
}

// Thread is the [thread] section: what the bridge adds to every new thread.
type Thread struct {
	ServiceName           string         `toml:"service_name"`
	DeveloperInstructions string         `toml:"developer_instructions"` // put before the client's
	Config                map[string]any `toml:"config"`                 // merged into every thread's config
	CronInstructions      string         `toml:"cron_instructions"`      // told of a turn that a schedule has started; "" the bridge's own
	HeartbeatInstructions string         `toml:"heartbeat_instructions"` // of one that a timer has
	OnStaleTools          string         `toml:"on_stale_tools"`         // "warn" | "fork"
	CodeMode              string         `toml:"code_mode"`              // "" | "only" | "off"
	Lightweight           bool           `toml:"lightweight"`            // without the project's own instructions
	MaxRollout            Size           `toml:"max_rollout"`            // of the file of a session's thread; 0 is no limit

	// On is true when a file has the section: without it nothing is added.
	On bool `toml:"-"`
}

// What becomes of a thread that a client resumes and that has other tools than there are.
const (
	Warn = "warn" // it is resumed, and the client is warned
	Fork = "fork" // another one with the same history takes its place
)

// Whether the model writes programs that call the tools; "" is as Codex has it.
const (
	CodeModeOnly = "only"
	CodeModeOff  = "off"
)

// Steering is the [steering] section: what input does that comes during a turn.
type Steering struct {
	Mode  string   `toml:"mode"` // steer | followup | queue | interrupt
	Quiet Duration `toml:"quiet"`
}

// Trace is the [trace] section.
type Trace struct {
	Enabled  bool     `toml:"enabled"`
	MaxEvent Size     `toml:"max_event"`
	MaxFile  Size     `toml:"max_file"`
	Keep     Duration `toml:"keep"` // after the last event of a file; 0: for good
}

// Transcript is the [transcript] section.
type Transcript struct {
	Enabled bool     `toml:"enabled"`
	Keep    Duration `toml:"keep"` // of a record; 0: for good
}

// Store is the [store] section.
type Store struct {
	URL string `toml:"url"` // empty: SQLite in the state folder. May hold a password: never print it
}

// Otel is the [otel] section.
type Otel struct {
	Endpoint string `toml:"endpoint"` // of a collector; empty: nothing is sent. May hold a password: never print it
}

// ACP is the [acp] section: agents that can be started as children.
type ACP struct {
	Enabled      bool             `toml:"enabled"`
	DefaultAgent string           `toml:"default_agent"`
	Allowed      []string         `toml:"allowed"` // nil = all configured
	Agents       map[string]Agent `toml:"agents"`  // by id
}

// Agent is one [acp.agents.NAME].
type Agent struct {
	Command []string `toml:"command"`
}

// Image is the [image] section: the bounded image worker.
type Image struct {
	Model   string   `toml:"model"` // empty: the first listed model that takes images
	Timeout Duration `toml:"timeout"`
}

// Files returns the files that were read, managed first.
func (c *Config) Files() []string { return append([]string(nil), c.files...) }
