package compat

import (
	"fmt"
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/methods"
)

// OverrideOrigin returns the place that sets policy.methods for a method.
func OverrideOrigin(cfg *config.Config, method string) string {
	origin, _ := cfg.Origin(config.Key("policy", "methods", method))
	return origin.String()
}

// OverrideProblem returns why an override of a method has no effect, or "" if it has one: for a
// method that a client may send or that the bridge answers, and for a request of Codex.
func OverrideProblem(newer *methods.Newer, name string) string {
	sides := SidesOf(newer, name)
	if guard.IsOwnMethod(name) {
		return ""
	}
	if slices.ContainsFunc(sides, methods.Side.IsOverridable) {
		return ""
	}
	if len(sides) > 0 {
		return "a " + sides[0].String() + ", and what codex tells can't be overridden"
	}
	if why := newer.WhyLeftOut(name); why != "" {
		return why
	}
	text := "no method of codex " + newer.Covered()
	known := slices.Concat(methods.Names(methods.ClientRequest), methods.Names(methods.ClientNotification), methods.Names(methods.ServerRequest))
	if near := config.Nearest(name, known); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// UnknownMethods describes what happens to a client's message with an unknown method.
func UnknownMethods(cfg *config.Config) string {
	switch {
	case cfg.Policy.Mode == config.Off:
		return "passes (policy.mode)"
	case cfg.Policy.UnknownMethods == "allow":
		return "passes (policy.unknown_methods)"
	case cfg.Policy.Mode == config.Audit:
		return "is logged, and passes (policy.mode)"
	}
	return "is refused (policy.unknown_methods)"
}

// SidesOf are the sides on which the table has a name.
func SidesOf(newer *methods.Newer, name string) []methods.Side {
	return slices.DeleteFunc(methods.Sides(), func(side methods.Side) bool {
		_, ok := newer.Lookup(side, name)
		return !ok
	})
}
