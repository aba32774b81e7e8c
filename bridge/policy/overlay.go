package policy

import (
	"bytes"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/rpc"
)

// projectsKey is a table that the bridge sets as a whole, in nested form.
const projectsKey = "projects"

// AllowsOverlayOf reports whether p also allows the overlay of any thread that was opened under
// another policy: project_trust, config_keys, models and efforts are as strict in that policy, or
// stricter, and it disables the same features. Codex keeps that overlay while it has the thread in
// memory, and its responses do not have it. Values that only narrow need no check: they pass under
// every policy.
func (p *Policy) AllowsOverlayOf(was *Policy) bool {
	if p.mode != config.Enforce {
		return true
	}
	is, had := p.section, was.section
	enabled := func(one pin) bool { return !slices.Contains(was.pins, one) }
	return was.mode == config.Enforce && slices.Index(trustValues, was.trust) >= slices.Index(trustValues, p.trust) &&
		config.CoversKeys(is.ConfigKeys, had.ConfigKeys) && config.CoversNames(is.Models, had.Models) && config.CoversNames(is.Efforts, had.Efforts) &&
		!slices.ContainsFunc(p.pins, enabled)
}

// decideOverlay checks `config`, an overlay over Codex's whole configuration.
//
// Measured with Codex 0.169: it splits the outermost keys at every dot, without quotes, escapes or
// trimming, but not inner keys. If a table has a nested and a dotted form, a random one wins (11 to
// 5 of 16 attempts). So the bridge removes every form of a key that it sets, and writes the dotted
// form.
//
// keys are those that the overlay must have. It reports whether the overlay has an allowed model.
func decideOverlay(in folders, o overlaySettings, sandbox threadSandbox, profile threadProfile, keys requiredKeys) (namesModel bool) {
	c := overlayRule{folders: &in, sandbox: sandbox, ownProfile: profile.Defined, fewerRoots: o.fewerRoots || sandbox.fewerRoots, keys: slices.Clone(keys)}
	c.decide()
	return c.namesModel
}

// overlayRule decides about the overlay of a thread.
type overlayRule struct {
	*folders
	sandbox    threadSandbox
	ownProfile bool         // the overlay defines the bridge's profile
	fewerRoots bool         // the thread has fewer writable roots than Codex's configuration
	keys       requiredKeys // that the overlay must have
	dotted     requiredKeys // nested keys that can only narrow, in dotted form
	namesModel bool         // the overlay has an allowed model
}

func (c *overlayRule) decide() {
	c.requireDefaults()
	c.requirePins()
	v := c.params.Get("config")
	kept := false
	if v.Kind() == rpc.Object {
		kept, _ = c.decideTable(v, nil)
	} else if !IsUnset(v) {
		c.dropField("config", RuleKeys, "it is not an object")
	}
	if c.err != nil {
		return
	}
	missing := bytes.NewBufferString("{")
	c.dotted = slices.DeleteFunc(c.dotted, func(w requiredKey) bool { return c.keys.find(w.key) != nil })
	for _, w := range slices.Concat(c.keys, c.dotted) {
		if w.present || w.withModel && !c.namesModel {
			continue
		}
		c.recordChange("config."+w.key, rpc.Value{}, w.raw, w.rule, w.reason)
		if kept {
			c.ensurePatch().Set(v, w.key, w.raw)
			continue
		}
		if missing.Len() > 1 {
			missing.WriteByte(',')
		}
		missing.Write(JSONString(w.key))
		missing.WriteByte(':')
		missing.Write(w.raw)
	}
	switch {
	case missing.Len() > 1:
		missing.WriteByte('}')
		c.ensurePatch().Set(c.params, "config", missing.Bytes())
	case !kept && v.Len() > 0:
		c.ensurePatch().Delete(c.params, "config")
	}
}

// decideTable checks one object of the overlay at path. It reports whether a member remains because
// the policy allows it. narrow are keys below path that may remain because they can only narrow, and
// that their outermost key decides about.
func (c *overlayRule) decideTable(v rpc.Value, path []string) (kept bool, narrow []string) {
	for key, m := range v.Members() {
		if c.err != nil {
			return kept, narrow
		}
		below := append(path[:len(path):len(path)], key)
		if path == nil {
			below = strings.Split(key, ".")
		}
		if m.Kind() != rpc.Object || m.Len() == 0 || forbiddenReason(splitDots(below), false) != "" && !slices.Equal(below, []string{workspaceWriteKey}) {
			switch {
			case path != nil && c.narrowsBelow(v, key, m, below):
				narrow = append(narrow, strings.Join(below, "."))
			case c.decideLeaf(v, key, m, below, path == nil):
				kept = true
			}
			continue
		}
		keptBelow, narrowBelow := c.decideTable(m, below)
		switch {
		case keptBelow:
			kept = true
			if path == nil && key == featuresKey && c.spec.opensThread {
				c.addNestedPins(m)
			}
		case len(narrowBelow) == 0:
			c.ensurePatch().Delete(v, key)
		case path == nil:
			c.ensurePatch().Delete(v, key)
			c.addDotted(narrowBelow)
		default:
			narrow = append(narrow, narrowBelow...)
		}
	}
	return kept, narrow
}

// decideLeaf checks one value of the overlay at path. key is its name in object.
func (c *overlayRule) decideLeaf(object rpc.Value, key string, m rpc.Value, path []string, top bool) (kept bool) {
	name := strings.Join(path, ".")
	field := "config." + name
	want := c.keys.find(name)
	if want != nil && top && bytes.Equal(m.Raw(), want.raw) {
		// The client sent the bridge's own value.
		want.present = true
		return true
	}
	// An inner key with dots must pass in both readings.
	split := splitDots(path)
	if len(split) == 1 && split[0] == defaultPermissionsKey && namesUserProfile(TextOf(m)) {
		c.lost = true
		c.refuse(rpc.CodeRefused, "params."+field, RuleUser, "without it Codex would lose what the permissions profile "+display.Clip(TextOf(m))+" denies", "name the profile in default_permissions of Codex's config.toml, or remove it here")
		return true
	}
	forbidden := forbiddenReason(split, true)
	if forbidden != "" && !(top && c.isNarrowestKey(name, m)) && c.refuseForbiddenLoss(split, m, forbidden) {
		return true
	}
	if want != nil && top && (key == projectsKey || key == permissionsKey || key == defaultPermissionsKey) {
		c.set(object, key, field, want.raw, want.rule, want.reason)
		want.present = true
		return true
	}
	if top && c.isNarrowestKey(name, m) && path[0] == workspaceWriteKey {
		return true
	}
	if forbidden != "" {
		c.drop(object, key, field, RuleKeys, "the policy never allows it: "+forbidden)
		return false
	}
	if one, pinned := c.p.findPin(split); pinned {
		return c.decidePinnedLeaf(object, key, m, name, one, want)
	}
	if reason := c.p.requiredReason(split, m); reason != "" {
		c.drop(object, key, field, ruleRequirements, reason)
		return false
	}
	if !c.p.allowsKey(path) || !c.p.allowsKey(split) {
		narrow := top && c.isNarrowestKey(name, m)
		if !narrow && !c.refuseLoss(path, m) {
			c.drop(object, key, field, RuleKeys, notAllowedKey)
		}
		return narrow
	}
	return c.decideModelLeaf(object, key, m, split, field, want)
}

// decideModelLeaf checks models and efforts at any place of an overlay, such as model, review_model
// and plan_mode_reasoning_effort.
func (c *overlayRule) decideModelLeaf(object rpc.Value, key string, m rpc.Value, path []string, field string, want *requiredKey) (kept bool) {
	p, last := c.p, len(path)-1
	for i, s := range path {
		model := p.models != nil && (s == "model" || strings.HasSuffix(s, "_model"))
		effort := p.efforts != nil && strings.HasSuffix(s, "reasoning_effort")
		if !model && !effort {
			continue
		}
		rule, list := RuleModels, p.ModelList()
		if effort {
			rule, list = RuleEfforts, p.EffortList()
		}
		if i < last || m.Kind() != rpc.String {
			c.drop(object, key, field, rule, "it is not a plain name")
			return false
		}
		to, replaced := []byte(nil), false
		if effort {
			to, replaced = c.replacementEffort(m)
		} else {
			to, replaced = c.replacementModel("params."+field, m)
		}
		if replaced {
			c.set(object, key, field, to, rule, FormatValue(m)+" is not in "+list)
		}
	}
	if slices.Equal(path, []string{"model"}) {
		c.namesModel = true
	}
	if want != nil {
		want.present = true
	}
	return true
}

// splitDots returns path with its segments split at their dots.
func splitDots(path []string) []string {
	if !slices.ContainsFunc(path, func(s string) bool { return strings.Contains(s, ".") }) {
		return path
	}
	return strings.Split(strings.Join(path, "."), ".")
}
