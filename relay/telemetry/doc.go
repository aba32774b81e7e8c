// Package telemetry measures what Codex does. [Telemetry] exports the duration and status
// of turns, tools and hooks, and the policy's decisions, to an OpenTelemetry collector.
// [Counts] counts hook runs, compactions and automatic reviews for bridge/status.
//
// Exported data has names, outcomes, times and ids, but no content of messages. No message
// waits for an export: data that can't be sent is dropped. [Collector.SendLogs] sends what the caller
// keeps until it is accepted. Codex does not send
// notifications that the client has opted out of, so they are not measured.
//
// [OCSF] and [CEF] return a decision in the forms that security tools read: an event of the Open
// Cybersecurity Schema Framework and a line of the Common Event Format.
package telemetry
