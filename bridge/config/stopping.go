package config

// StoppingMethods are the client's methods that end work, or take something back. A workspace file can't deny
// them: a command may write such a file, and its turn could not be stopped any more.
var StoppingMethods = map[string]bool{
	"turn/interrupt":                       true,
	"thread/unsubscribe":                   true,
	"thread/goal/clear":                    true,
	"thread/queue/delete":                  true,
	"thread/realtime/stop":                 true,
	"thread/sample/cancel":                 true,
	"thread/search/cancel":                 true,
	"thread/search/stream/cancel":          true,
	"thread/backgroundTerminals/clean":     true,
	"thread/backgroundTerminals/terminate": true,
	"command/exec/terminate":               true,
	"process/kill":                         true,
	"mcpServer/event/stream/stop":          true,
	"remoteControl/disable":                true,
	"account/gatewayOAuth/cancel":          true,
	"account/login/cancel":                 true,
	"account/logout":                       true,
	"userVerification/cancel":              true,
	"fs/unwatch":                           true,
	"fuzzyFileSearch/sessionStop":          true,
	"bridge/acp/cancel":                    true,
	"bridge/grant/revoke":                  true,
	"bridge/tool/unregister":               true,
	"bridge/turn/interrupt":                true,
}

// deniesStopping reports whether a leaf is a verdict of a workspace file on a method that ends work.
func deniesStopping(f leaf) bool {
	return f.origin.Layer == Workspace && f.pattern == "policy.methods.*" && StoppingMethods[f.parts[len(f.parts)-1]]
}
