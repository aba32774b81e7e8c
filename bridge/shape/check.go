package shape

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"codex-bridge/rpc"
)

// Mismatch is a value of another shape than Codex's schema gives it.
type Mismatch struct {
	Path  string // from params or result on: "capabilities.extensions"
	Found string
	Want  string
}

// Request checks the params of a client's request. A method that the schema does not
// have is not checked.
func CheckRequest(method string, params rpc.Value) *Mismatch {
	return check(tables().requests.lookup(method), params)
}

// Notification checks the params of a client's notification.
func CheckNotification(method string, params rpc.Value) *Mismatch {
	return check(tables().notifications.lookup(method), params)
}

// Answer checks the result that a client gives to a request of Codex.
func CheckResponse(method string, result rpc.Value) *Mismatch {
	return check(tables().responses.lookup(method), result)
}

// check looks at the outermost value. Whether it may be left out is Codex's to say.
func check(n *node, v rpc.Value) *Mismatch {
	if n == nil || !v.Exists() {
		return nil
	}
	m := n.check(v)
	if m != nil {
		m.Path = strings.TrimPrefix(m.Path, ".")
	}
	return m
}

func (n *node) check(v rpc.Value) *Mismatch {
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

func (n *node) mismatch(v rpc.Value) *Mismatch {
	return &Mismatch{Found: v.Kind().String(), Want: n.want}
}

func (n *node) checkElements(v rpc.Value) *Mismatch {
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

func (n *node) checkObject(v rpc.Value) *Mismatch {
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

// tagged looks at the variant that an object names.
func (n *node) checkTagged(v rpc.Value) *Mismatch {
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
		name, _ := tag.Text() // it may be escaped
		variant, ok = n.variants[name]
	}
	if !ok {
		return (&Mismatch{Found: "the unknown name " + clip(tag.Raw()), Want: "a variant that Codex has"}).in("." + n.tag)
	}
	return variant.check(v)
}

// oneOf looks for an alternative that fits. Of several that don't it tells what is
// wrong with the one that fits best.
func (n *node) checkAny(v rpc.Value) *Mismatch {
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

// missing looks for the members that tell an alternative from another. In general Codex
// says itself what is missing.
func (n *node) checkRequired(v rpc.Value) *Mismatch {
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

// privatePrefixes start the keys by which the libraries that Codex reads with pass values
// to themselves. Package rpc refuses serde_json's everywhere.
var privatePrefixes = []string{"$__toml_private_", "$__serde_"}

// private looks for such a key in a value that may be anything.
func checkPrivate(v rpc.Value) *Mismatch {
	if k := v.Kind(); k != rpc.Object && k != rpc.Array {
		return nil
	}
	// A dollar sign may be written as an escape.
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

func clip(raw []byte) string {
	const maxShown = 80
	if len(raw) > maxShown {
		return string(bytes.ToValidUTF8(raw[:maxShown], nil)) + "…"
	}
	return string(raw)
}

func kindOf(letter rune) rpc.Kind {
	switch letter {
	case Null:
		return rpc.Null
	case Bool:
		return rpc.Bool
	case Number:
		return rpc.Number
	case String:
		return rpc.String
	case Array:
		return rpc.Array
	case Object:
		return rpc.Object
	}
	return rpc.Absent // "*"; never a value's
}

func wordOf(letter rune) string {
	if letter == AnyKind {
		return "anything"
	}
	return kindOf(letter).String()
}
