package decide

// Reason is why. The text is what clients read; Words is for people.
type Reason string

// The reasons.
const (
	Unchanged           Reason = "unchanged"
	NotBound            Reason = "notBound"
	EngineChanged       Reason = "contextEngineChanged"
	UserServersChanged  Reason = "userMcpServersChanged"
	EnvironmentsChanged Reason = "environmentsChanged"
	ServersChanged      Reason = "mcpServersChanged"
	PluginsOff          Reason = "pluginsOff"
	PluginsUnknown      Reason = "pluginsUnknown"
	PluginsChanged      Reason = "pluginsChanged"
	AppsToBuild         Reason = "pluginAppsToBuild"
	AppsChanged         Reason = "pluginAppsChanged"
	ToolsGone           Reason = "dynamicToolsGone"
	ToolsChanged        Reason = "dynamicToolsChanged"
	ThreadLost          Reason = "threadLost"
	ResumeFailed        Reason = "resumeFailed"
	ContextFull         Reason = "contextFull"
	ImageRefused        Reason = "imageRefused"
	RolloutTooLarge     Reason = "rolloutTooLarge"
	TurnStuck           Reason = "turnStuck"
)

var words = map[Reason]string{
	Unchanged:           "nothing has changed",
	NotBound:            "the session has no thread yet",
	EngineChanged:       "the context engine has changed",
	UserServersChanged:  "the user's MCP servers have changed",
	EnvironmentsChanged: "the environments have changed",
	ServersChanged:      "the MCP servers have changed",
	PluginsOff:          "plugins are off, and the thread has apps of theirs",
	PluginsUnknown:      "plugins are on, and it is not known which apps the thread has",
	PluginsChanged:      "the plugins have changed",
	AppsToBuild:         "it has to be found out which apps the plugins have now",
	AppsChanged:         "the apps of the plugins have changed",
	ToolsGone:           "there are no dynamic tools for now",
	ToolsChanged:        "the dynamic tools have changed",
	ThreadLost:          "Codex has no record of the thread: it never ran a turn, or the record is gone",
	ResumeFailed:        "Codex could not go on with the thread",
	ContextFull:         "the thread's context is full",
	ImageRefused:        "the thread holds an image that the model refuses",
	RolloutTooLarge:     "the thread has grown too large",
	TurnStuck:           "a turn of the thread timed out and could not be interrupted",
}

// Words is the reason for people; "" for one that is not known.
func (r Reason) Words() string { return words[r] }
