package methods

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/rpc"
)

// Mismatch describes a value whose shape is not that of Codex's schema.
type Mismatch struct {
	Path  string // below params or result, such as "capabilities.extensions"
	Found string
	Want  string
}

// CheckRequest checks the params of a client's request. It returns nil if they match, or if the
// schema does not have the method.
func CheckRequest(method string, params rpc.Value) *Mismatch {
	return checkShape(compiledShapes().requests.lookup(method), params)
}

// CheckNotification checks the params of a client's notification, like CheckRequest.
func CheckNotification(method string, params rpc.Value) *Mismatch {
	return checkShape(compiledShapes().notifications.lookup(method), params)
}

// CheckResponse checks the result of a client's response to a request of Codex, like CheckRequest.
func CheckResponse(method string, result rpc.Value) *Mismatch {
	return checkShape(compiledShapes().responses.lookup(method), result)
}

// HasParam reports whether the params of a client's message have a member in Codex's schema. Those of some methods
// have none.
func HasParam(kind rpc.MessageKind, method, member string) bool {
	nodes := compiledShapes().requests
	if kind == rpc.Notification {
		nodes = compiledShapes().notifications
	}
	n := nodes.lookup(method)
	return n != nil && !n.anyValue && n.canHave(member)
}

// canHave reports whether an object of this shape, or of one of its alternatives, can have a member.
func (n *shapeNode) canHave(member string) bool {
	has := func(one *shapeNode) bool { return one.canHave(member) }
	switch {
	case n.ref != nil:
		return n.ref.canHave(member)
	case n.anyValue, n.values != nil, n.tag != "" && member == n.tag:
		return true
	case slices.ContainsFunc(n.any, has), slices.ContainsFunc(slices.Collect(maps.Values(n.variants)), has), n.untagged != nil && has(n.untagged):
		return true
	}
	_, ok := n.members[member]
	return ok
}

// checkShape checks params or a result. Codex itself checks whether they may be omitted.
func checkShape(n *shapeNode, v rpc.Value) *Mismatch {
	if n == nil || !v.Exists() {
		return nil
	}
	m := n.check(v)
	if m != nil {
		m.Path = strings.TrimPrefix(m.Path, ".")
	}
	return m
}

func (n *shapeNode) check(v rpc.Value) *Mismatch {
	kind := v.Kind()
	switch {
	case n.anyValue:
		return checkPrivate(v)
	case n.ref != nil && (kind != rpc.Null || n.kinds&(1<<rpc.Null) == 0):
		return n.ref.check(v)
	case n.any != nil && n.kinds&(1<<kind) == 0:
		return n.checkAny(v)
	case n.tag != "" && kind == rpc.Object:
		return n.checkTagged(v)
	case n.kinds&(1<<kind) == 0:
		return n.mismatch(v)
	}
	switch kind {
	case rpc.Array:
		return n.checkElements(v)
	case rpc.Object:
		return n.checkObject(v)
	}
	return nil
}

func (n *shapeNode) mismatch(v rpc.Value) *Mismatch {
	return &Mismatch{Found: v.Kind().String(), Want: n.want}
}

func (n *shapeNode) checkElements(v rpc.Value) *Mismatch {
	if n.elem == nil {
		return checkPrivate(v)
	}
	elements := v.Children()
	for i := 0; ; i++ {
		_, element, ok := elements.Next()
		if !ok {
			return nil
		}
		if m := n.elem.check(element); m != nil {
			return m.in("[" + strconv.Itoa(i) + "]")
		}
	}
}

func (n *shapeNode) checkObject(v rpc.Value) *Mismatch {
	members := v.Children()
	for {
		name, member, more := members.Next()
		if !more {
			return nil
		}
		known, ok := n.members[name]
		switch {
		case !ok && n.values != nil:
			known = n.values
		case !ok && (n.closed || slices.Contains(n.refused, name)):
			return (&Mismatch{Found: "a member that Codex's schema does not have", Want: "nothing"}).in("." + name)
		}
		var m *Mismatch
		if known == nil {
			m = checkPrivate(member)
		} else {
			m = known.check(member)
		}
		if m != nil {
			return m.in("." + name)
		}
	}
}

// checkTagged checks an object against the variant that it names.
func (n *shapeNode) checkTagged(v rpc.Value) *Mismatch {
	tag := v.Get(n.tag)
	switch {
	case !tag.Exists() && n.untagged != nil:
		if m := n.untagged.checkRequired(v); m != nil {
			return m
		}
		return n.untagged.checkObject(v)
	case !tag.Exists():
		return (&Mismatch{Found: "nothing", Want: "the name of a variant"}).in("." + n.tag)
	case tag.Kind() != rpc.String:
		return (&Mismatch{Found: tag.Kind().String(), Want: "a string"}).in("." + n.tag)
	}
	variant, ok := n.variants[string(tag.Raw()[1:len(tag.Raw())-1])] // does not allocate
	if !ok {
		name, _ := tag.Text() // may have escapes
		variant, ok = n.variants[name]
	}
	if !ok {
		return (&Mismatch{Found: "the unknown name " + display.ClipTo(string(tag.Raw()), 80), Want: "one of " + strings.Join(slices.Sorted(maps.Keys(n.variants)), ", ")}).in("." + n.tag)
	}
	return variant.check(v)
}

// checkAny checks for a matching alternative. If there is none, it returns the mismatch with the
// longest path.
func (n *shapeNode) checkAny(v rpc.Value) *Mismatch {
	var deepest *Mismatch
	for _, one := range n.any {
		m := one.check(v)
		if m == nil {
			m = one.checkRequired(v)
		}
		if m == nil {
			return nil
		}
		if deepest == nil || len(m.Path) > len(deepest.Path) {
			deepest = m
		}
	}
	if deepest.Path == "" {
		return n.mismatch(v)
	}
	return deepest
}

// checkRequired checks for the members that distinguish alternatives. Codex itself checks for
// other missing members.
func (n *shapeNode) checkRequired(v rpc.Value) *Mismatch {
	for n.ref != nil {
		n = n.ref
	}
	if v.Kind() != rpc.Object {
		return nil
	}
	for _, name := range n.required {
		if !v.Get(name).Exists() {
			return (&Mismatch{Found: "nothing", Want: "a value"}).in("." + name)
		}
	}
	return nil
}

func (m *Mismatch) in(path string) *Mismatch {
	m.Path = path + m.Path
	return m
}

// privatePrefixes start the keys that Codex's decoders use for special values. Package rpc refuses
// those of serde_json everywhere.
var privatePrefixes = []string{"$__toml_private_", "$__serde_"}

// checkPrivate searches for such a key in a value of any shape.
func checkPrivate(v rpc.Value) *Mismatch {
	if k := v.Kind(); k != rpc.Object && k != rpc.Array {
		return nil
	}
	// A dollar sign may be written as an escape, so a backslash needs the search, too.
	if raw := v.Raw(); !bytes.Contains(raw, []byte("$__")) && bytes.IndexByte(raw, '\\') < 0 {
		return nil
	}
	return findPrivate(v)
}

func findPrivate(v rpc.Value) *Mismatch {
	for name, member := range v.Members() {
		for _, prefix := range privatePrefixes {
			if strings.HasPrefix(name, prefix) {
				return (&Mismatch{Found: "a key that begins with " + prefix, Want: "a key of yours"}).in("." + name)
			}
		}
		if m := findPrivate(member); m != nil {
			return m.in("." + name)
		}
	}
	i := 0
	for element := range v.Elements() {
		if m := findPrivate(element); m != nil {
			return m.in("[" + strconv.Itoa(i) + "]")
		}
		i++
	}
	return nil
}

func kindOf(letter rune) rpc.Kind {
	switch letter {
	case KindNull:
		return rpc.Null
	case KindBool:
		return rpc.Bool
	case KindNumber:
		return rpc.Number
	case KindString:
		return rpc.String
	case KindArray:
		return rpc.Array
	case KindObject:
		return rpc.Object
	}
	return rpc.Absent // "*", which no value has
}

func wordOf(letter rune) string {
	if letter == KindAny {
		return "anything"
	}
	return kindOf(letter).String()
}
