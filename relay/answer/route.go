package answer

import (
	"strings"
	"unicode"

	"codex-bridge/rpc"
)

// Route is whose answer an elicitation gets. The zero value is nobody's.
type Route int

// The routes.
const (
	Foreign  Route = iota // no consent to a tool, or of another turn: declined, unless policy lets a client answer
	Declined              // the tool of an app about which there is doubt
	ToPerson              // goes the way of approvals
	ToPlugin              // policy has consented, for once
)

// Scope is what an elicitation is held against.
type Scope struct {
	Thread, Turn string // that are running
	ComputerUse  string // the name of the server that drives the screen; empty for none
	Apps         *Apps  // nil: nobody has said anything of apps
}

// Apps are the apps of plugins that policy knows, by their id.
type Apps struct{ ByID map[string]App }

// App is one of them.
type App struct {
	ConfigKey, PluginName string
	Destructive           bool // may run without being asked about
	Servers               []string
}

// RouteElicitation tells whose answer an elicitation gets.
func RouteElicitation(params rpc.Value, s Scope) Route {
	thread, _ := params.Get("threadId").Text()
	turn, hasTurn := params.Get("turnId").Text()
	if thread == "" || thread != s.Thread || hasTurn && turn != s.Turn {
		return Foreign
	}
	if v := params.Get("turnId"); v.Exists() && v.Kind() != rpc.Null && !hasTurn {
		return Foreign
	}
	server := text(params, "serverName")
	if app, is := s.app(params.Get("_meta"), server); is {
		if app == nil || !app.Destructive || !hasTurn || !hasForm(params) {
			return Declined
		}
		return ToPlugin
	}
	if !hasForm(params) {
		return Foreign
	}
	if params.Get("_meta").Get("codex_approval_kind").Is("mcp_tool_call") || s.ComputerUse != "" && server == s.ComputerUse {
		return ToPerson
	}
	return Foreign
}

func hasForm(params rpc.Value) bool {
	schema := params.Get("requestedSchema")
	return params.Get("mode").Is("form") && schema.Get("type").Is("object") && schema.Get("properties").Kind() == rpc.Object
}

// app finds the app whose tool asks: is tells that it is one's, and a nil app that it
// can't be told which, or that policy does not know it.
func (s Scope) app(meta rpc.Value, server string) (app *App, is bool) {
	var ids []string
	for _, key := range [...]string{"app_id", "appId"} {
		if v := meta.Get(key); v.Exists() && v.Kind() != rpc.Null {
			ids, is = append(ids, text(meta, key)), true
		}
	}
	if server == "codex_apps" && meta.Get("source").Is("connector") {
		ids, is = append(ids, text(meta, "connector_id")), true
	}
	if s.Apps == nil {
		return nil, is
	}
	named := ""
	for id, a := range s.Apps.ByID {
		for _, name := range a.Servers {
			if server == "" || name != server {
				continue
			}
			if named != "" && named != id {
				return nil, true // it could be of either
			}
			named, is = id, true
		}
	}
	if named != "" {
		ids = append(ids, named)
	}
	if !is {
		return nil, s.namesApp(text(meta, "connector_name"))
	}
	for _, id := range ids {
		if id != ids[0] {
			return nil, true
		}
	}
	if a, known := s.Apps.ByID[ids[0]]; known {
		return &a, true
	}
	return nil, true
}

// namesApp tells whether a name that is only for show reads like an app's.
func (s Scope) namesApp(name string) bool {
	name = letters(name)
	if name == "" {
		return false
	}
	for id, a := range s.Apps.ByID {
		if name == letters(id) || name == letters(a.ConfigKey) || name == letters(a.PluginName) {
			return true
		}
	}
	return false
}

func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
