package answer

import (
	"slices"
	"strings"
	"unicode"

	"codex-bridge.example/rpc"
)

// Route is the party that answers an elicitation. The zero value refuses it.
type Route int

// The routes.
const (
	Foreign  Route = iota // of no thread, or not of the running turn: declined
	Declined              // about an app that is unknown or not allowed: declined
	ToPlugin              // the host has consented to the app's action: accepted once
	ToPerson              // about running a tool: handled like an approval
	ToClient              // the server's own question: the client handles it
)

// Scope has the running turn and the known apps of an elicitation's thread.
type Scope struct {
	Turn string // the running turn; "": not known
	Apps *Apps  // the apps of the thread's session; nil: the host has named none
}

// Apps are the apps that a session's host has named for its thread, by id.
type Apps struct{ ByID map[string]App }

// App is an app of a plugin.
type App struct {
	ConfigKey, PluginName string
	Destructive           bool     // the host has consented to destructive actions
	Servers               []string // the plugin's servers
}

// RouteElicitation returns the party that answers an elicitation. For a consent, the question must
// belong to the running turn, be a form, and name one app in all of its fields.
func RouteElicitation(params rpc.Value, s Scope) Route {
	if isSet(params.Get("turnId")) && !IsOfTurn(params, s.Turn) || text(params, "threadId") == "" {
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

// IsOfTurn reports whether a question belongs to the running turn of a thread. If running
// is "", any turn matches.
func IsOfTurn(params rpc.Value, running string) bool {
	turn := text(params, "turnId")
	return text(params, "threadId") != "" && turn != "" && (running == "" || turn == running)
}

func isSet(v rpc.Value) bool { return v.Exists() && v.Kind() != rpc.Null }

func hasForm(params rpc.Value) bool {
	schema := params.Get("requestedSchema")
	return params.Get("mode").Is("form") && schema.Get("type").Is("object") && schema.Get("properties").Kind() == rpc.Object
}

// appServer is the name, or the start of the name, of Codex's own server for apps.
const appServer = "codex_apps"

// app returns the app that a question is about. is reports whether it is about an app; the
// app may still be unknown.
func (s Scope) app(params rpc.Value) (app *App, is bool) {
	if s.Apps == nil {
		return nil, false
	}
	meta, server := params.Get("_meta"), text(params, "serverName")
	left := s.Apps.ByID // the apps that match every field so far
	narrow := func(so func(id string, a App) bool) { left, is = which(left, so), true }
	for _, key := range [...]string{"app_id", "appId"} {
		if isSet(meta.Get(key)) {
			narrow(func(id string, _ App) bool { return id == text(meta, key) })
		}
	}
	if server == appServer && meta.Get("source").Is("connector") {
		narrow(func(id string, _ App) bool { return id == text(meta, "connector_id") })
	}
	for _, key := range [...]string{"plugin_name", "pluginName"} {
		if isSet(meta.Get(key)) {
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

func (a App) serves(server string) bool { return server != "" && slices.Contains(a.Servers, server) }

// asksAs reports whether the app's questions come from this server. Any server may put an
// app's id into its question.
func (a App) asksAs(server string) bool {
	return server == appServer || strings.HasPrefix(server, appServer+"__") || a.serves(server)
}

// showsApp reports whether a display name looks like an app's.
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
