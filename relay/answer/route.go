package answer

import (
	"strings"
	"unicode"

	"codex-bridge/rpc"
)

// Route is the party that answers an elicitation. The zero value is a refusal.
type Route int

// The routes.
const (
	Foreign  Route = iota // it is of no thread, or of another turn than the one that runs: declined
	Declined              // it is about an app, and there is doubt which, or the app must not: declined
	ToPlugin              // the host has consented to what the app does: accepted, once
	ToPerson              // whether a tool may run: answered as approvals are
	ToClient              // a question of the server's own: the client knows what to do with it
)

// Scope is the running turn and the known apps, against which an elicitation is checked.
type Scope struct {
	Turn string // that runs in the question's thread; "" unknown
	Apps *Apps  // of the thread's session; nil: its host has said nothing of apps
}

// Apps are the apps that a session's host has given to its thread, by their id.
type Apps struct{ ByID map[string]App }

// App is an app of a plugin.
type App struct {
	ConfigKey, PluginName string
	Destructive           bool     // its host has consented to what it would be asked about
	Servers               []string // the plugin's own
}

// RouteElicitation returns the party that answers an elicitation. For a consent, the question must belong
// to the running turn, be a form, and name one app in all of its fields.
func RouteElicitation(params rpc.Value, s Scope) Route {
	if set(params.Get("turnId")) && !OfTurn(params, s.Turn) || text(params, "threadId") == "" {
		return Foreign
	}
	turn, _ := params.Get("turnId").Text()
	if app, is := s.app(params); is {
		if app == nil || !app.Destructive || s.Turn == "" || turn != s.Turn || !hasForm(params) {
			return Declined
		}
		return ToPlugin
	}
	if hasForm(params) && params.Get("_meta").Get("codex_approval_kind").Is("mcp_tool_call") {
		return ToPerson
	}
	return ToClient
}

// OfTurn reports whether a question names a thread, and the turn that is running there; any
// turn where running is "".
func OfTurn(params rpc.Value, running string) bool {
	turn := text(params, "turnId")
	return text(params, "threadId") != "" && turn != "" && (running == "" || turn == running)
}

func set(v rpc.Value) bool { return v.Exists() && v.Kind() != rpc.Null }

func hasForm(params rpc.Value) bool {
	schema := params.Get("requestedSchema")
	return params.Get("mode").Is("form") && schema.Get("type").Is("object") && schema.Get("properties").Kind() == rpc.Object
}

// Codex's own server for apps has this name, or a name that begins with it.
const appServer = "codex_apps"

// app finds the app that a question is about. is reports whether it is about one at all; it
// is not known which where app is nil then.
func (s Scope) app(params rpc.Value) (app *App, is bool) {
	if s.Apps == nil {
		return nil, false
	}
	meta, server := params.Get("_meta"), text(params, "serverName")
	left := s.Apps.ByID // that all of the question agrees on
	narrow := func(so func(id string, a App) bool) { left, is = which(left, so), true }
	for _, key := range [...]string{"app_id", "appId"} {
		if set(meta.Get(key)) {
			narrow(func(id string, _ App) bool { return id == text(meta, key) })
		}
	}
	if server == appServer && meta.Get("source").Is("connector") {
		narrow(func(id string, _ App) bool { return id == text(meta, "connector_id") })
	}
	for _, key := range [...]string{"plugin_name", "pluginName"} {
		if set(meta.Get(key)) {
			narrow(func(_ string, a App) bool { return a.PluginName == text(meta, key) })
		}
	}
	serves := func(_ string, a App) bool { return a.serves(server) }
	if len(which(s.Apps.ByID, serves)) > 0 {
		narrow(serves)
	}
	if !is {
		return nil, s.showsApp(text(meta, "connector_name"))
	}
	for _, a := range left {
		if len(left) == 1 && a.asksAs(server) {
			return &a, true
		}
	}
	return nil, true
}

func which(apps map[string]App, so func(id string, a App) bool) map[string]App {
	left := make(map[string]App)
	for id, a := range apps {
		if so(id, a) {
			left[id] = a
		}
	}
	return left
}

func (a App) serves(server string) bool {
	for _, name := range a.Servers {
		if name != "" && name == server {
			return true
		}
	}
	return false
}

// asksAs reports whether the app's questions come from a server of that name. Any server may
// write an app's id into its own question.
func (a App) asksAs(server string) bool {
	return server == appServer || strings.HasPrefix(server, appServer+"__") || a.serves(server)
}

// showsApp reports whether a name that is only for display looks like an app's.
func (s Scope) showsApp(name string) bool {
	name = letters(name)
	like := func(id string, a App) bool {
		return name == letters(id) || name == letters(a.ConfigKey) || name == letters(a.PluginName)
	}
	return name != "" && len(which(s.Apps.ByID, like)) > 0
}

func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
