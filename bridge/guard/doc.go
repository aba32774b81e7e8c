// Package guard enforces a policy in a conversation. It asks bridge/policy about each message of
// the client and each request of Codex, rewrites or refuses the message, and compares Codex's
// responses with the decisions.
//
// The package promises: under enforce no message reaches Codex that the policy refuses, and a
// thread takes a turn only while its settings, as Codex last reported them, are what the policy
// allows. A decision is logged before it takes effect. Under audit a Guard logs every decision and
// changes nothing.
//
// The package does not ask people; package relay/approvals and the feature of Asking do. It does
// not supervise commands that run already, and it relies on Codex's reports.
//
// A Guard is a bridge.Feature. Routes, Attach, and the methods that configure the Guard are called
// before the conversation starts. All other methods may be called concurrently; SetPolicy may be
// called at any time.
package guard
