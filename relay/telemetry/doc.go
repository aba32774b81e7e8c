// Package telemetry tells a collector of OpenTelemetry how long turns, tools and hooks take,
// how they end, and what the policy decides.
//
// It tells names, outcomes, times and ids, and never what was said, asked or answered. No
// message waits for it: what can't be sent as fast as it comes, or at all, is dropped. What a
// client has opted out of hearing Codex does not say, and is not told here either.
package telemetry
