package binding

// Action is the request with which a conversation gets its thread.
type Action string

// The actions. The zero Action is none of them.
const (
	ActionResume    Action = "resume"    // go on with the thread
	ActionStart     Action = "start"     // a new thread, in place of the one that was bound, if any
	ActionTransient Action = "transient" // a new thread for now; the binding stays as it is
	ActionRotate    Action = "rotate"    // Start, and the host has to know: the context is another engine's
	// ActionBuild is preliminary: the caller builds the AppConfig and decides again.
	ActionBuild Action = "build"
)

// Binds tells whether the thread becomes the conversation's.
func (a Action) Binds() bool { return a == ActionResume || a == ActionStart || a == ActionRotate }

// Decision is an action and why.
type Decision struct {
	Action Action
	Reason Reason
}

// Reason is why. The text is what clients read; Words is for people.
type Reason string

// The reasons.
const (
	ReasonUnchanged           Reason = "unchanged"
	ReasonNotBound            Reason = "notBound"
	ReasonEngineChanged       Reason = "contextEngineChanged"
	ReasonUserServersChanged  Reason = "userMcpServersChanged"
	ReasonEnvironmentsChanged Reason = "environmentsChanged"
	ReasonServersChanged      Reason = "mcpServersChanged"
	ReasonPluginsOff          Reason = "pluginsOff"
	ReasonPluginsUnknown      Reason = "pluginsUnknown"
	ReasonPluginsChanged      Reason = "pluginsChanged"
	ReasonAppsToBuild         Reason = "pluginAppsToBuild"
	ReasonAppsChanged         Reason = "pluginAppsChanged"
	ReasonToolsGone           Reason = "dynamicToolsGone"
	ReasonToolsChanged        Reason = "dynamicToolsChanged"
	ReasonThreadLost          Reason = "threadLost"
	ReasonResumeFailed        Reason = "resumeFailed"
	ReasonContextFull         Reason = "contextFull"
	ReasonImageRefused        Reason = "imageRefused"
	ReasonRolloutTooLarge     Reason = "rolloutTooLarge"
	ReasonTurnStuck           Reason = "turnStuck"
)

var reasonWords = map[Reason]string{
	ReasonUnchanged:           "nothing has changed",
	ReasonNotBound:            "the session has no thread yet",
	ReasonEngineChanged:       "the context engine has changed",
	ReasonUserServersChanged:  "the user's MCP servers have changed",
	ReasonEnvironmentsChanged: "the environments have changed",
	ReasonServersChanged:      "the MCP servers have changed",
	ReasonPluginsOff:          "plugins are off, and the thread has apps of theirs",
	ReasonPluginsUnknown:      "plugins are on, and it is not known which apps the thread has",
	ReasonPluginsChanged:      "the plugins have changed",
	ReasonAppsToBuild:         "it has to be found out which apps the plugins have now",
	ReasonAppsChanged:         "the apps of the plugins have changed",
	ReasonToolsGone:           "there are no dynamic tools for now",
	ReasonToolsChanged:        "the dynamic tools have changed",
	ReasonThreadLost:          "Codex has no record of the thread: it never ran a turn, or the record is gone",
	ReasonResumeFailed:        "Codex could not go on with the thread",
	ReasonContextFull:         "the thread's context is full",
	ReasonImageRefused:        "the thread holds an image that the model refuses",
	ReasonRolloutTooLarge:     "the thread has grown too large",
	ReasonTurnStuck:           "a turn of the thread timed out and could not be interrupted",
}

// Words is the reason for people; "" for one that is not known.
func (r Reason) Words() string { return reasonWords[r] }
