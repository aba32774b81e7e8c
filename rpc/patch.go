package rpc

import (
	"bytes"
	"slices"
)

// Patch rewrites the text of a message. Values without an edit keep their bytes:
// unknown members, the order of keys and the spelling of numbers. An object that
// gains or loses a member loses the white space between its members. The last of two
// edits of one member wins. An edit below a replaced or deleted value has no effect.
type Patch struct {
	doc      *Doc
	replaced map[uint32][]byte   // node → new text
	deleted  map[uint32]bool     // member node
	added    map[uint32][]member // object node → new members, after its own
	touched  map[uint32]bool     // nodes with an edit in or below them
}

type member struct {
	key string
	raw []byte
}

// NewPatch returns a Patch of m, which must have been parsed with deep true.
func NewPatch(m *Message) *Patch { return &Patch{doc: &m.Doc} }

// NewEnvelopePatch returns a Patch of a message from Codex.
func NewEnvelopePatch(e *Envelope) *Patch { return &Patch{doc: &e.Doc} }

// Changed reports whether the Patch has any edit.
func (p *Patch) Changed() bool { return len(p.touched) > 0 }

// Replace replaces v by raw, a JSON text. It panics if v does not exist.
func (p *Patch) Replace(v Value, raw []byte) {
	if !v.Exists() {
		panic("rpc: Patch.Replace of a value that is not there")
	}
	if p.replaced == nil {
		p.replaced = make(map[uint32][]byte)
	}
	p.replaced[v.i] = raw
	delete(p.deleted, v.i)
	p.touch(v.i)
}

// Set replaces the member key of object, or adds it at the end. It panics if object is
// not an object.
func (p *Patch) Set(object Value, key string, raw []byte) {
	if object.Kind() != Object {
		panic("rpc: Patch.Set on " + object.Kind().String())
	}
	if v := object.Get(key); v.Exists() {
		p.Replace(v, raw)
		return
	}
	if p.added == nil {
		p.added = make(map[uint32][]member)
	}
	p.touch(object.i)
	for i, m := range p.added[object.i] {
		if m.key == key {
			p.added[object.i][i].raw = raw
			return
		}
	}
	p.added[object.i] = append(p.added[object.i], member{key, raw})
}

// Delete removes the member key from object, if it exists.
func (p *Patch) Delete(object Value, key string) {
	v := object.Get(key)
	if !v.Exists() {
		if object.Kind() == Object && len(p.added[object.i]) > 0 { // added by Set
			p.added[object.i] = slices.DeleteFunc(p.added[object.i], func(m member) bool { return m.key == key })
		}
		return
	}
	if p.deleted == nil {
		p.deleted = make(map[uint32]bool)
	}
	p.deleted[v.i] = true
	p.touch(v.i)
}

// touch marks node i and all nodes that contain it.
func (p *Patch) touch(i uint32) {
	if p.touched == nil {
		p.touched = make(map[uint32]bool)
	}
	for at := uint32(0); ; {
		p.touched[at] = true
		if at == i {
			return
		}
		for at++; p.doc.nodes[at].skip <= i; at = p.doc.nodes[at].skip {
		}
	}
}

// Bytes returns the rewritten text, or the original if there is no edit.
func (p *Patch) Bytes() []byte {
	if !p.Changed() {
		return p.doc.text
	}
	root := p.doc.nodes[0]
	out := append(make([]byte, 0, len(p.doc.text)+256), p.doc.text[:root.start]...)
	return append(p.render(out, 0), p.doc.text[root.end:]...)
}

func (p *Patch) render(out []byte, i uint32) []byte {
	n := &p.doc.nodes[i]
	if raw, ok := p.replaced[i]; ok {
		return append(out, raw...)
	}
	if !p.touched[i] {
		return append(out, p.doc.text[n.start:n.end]...)
	}
	if !p.membersChange(i) {
		return p.renderInPlace(out, i)
	}
	out = append(out, '{')
	first := true
	comma := func() {
		if !first {
			out = append(out, ',')
		}
		first = false
	}
	for c := i + 1; c < n.skip; c = p.doc.nodes[c].skip {
		if p.deleted[c] {
			continue
		}
		comma()
		k := &p.doc.nodes[c]
		out = append(out, p.doc.text[k.keyStart-1:k.keyEnd+1]...)
		out = p.render(append(out, ':'), c)
	}
	for _, m := range p.added[i] {
		comma()
		out = append(appendQuoted(out, m.key), ':')
		out = append(out, m.raw...)
	}
	return append(out, '}')
}

// membersChange reports whether the object i itself gains or loses members.
func (p *Patch) membersChange(i uint32) bool {
	if len(p.added[i]) > 0 {
		return true
	}
	n := &p.doc.nodes[i]
	for c := i + 1; c < n.skip; c = p.doc.nodes[c].skip {
		if p.deleted[c] {
			return true
		}
	}
	return false
}

// renderInPlace renders the children of i and keeps the text between them.
func (p *Patch) renderInPlace(out []byte, i uint32) []byte {
	n := &p.doc.nodes[i]
	at := n.start
	for c := i + 1; c < n.skip; c = p.doc.nodes[c].skip {
		k := &p.doc.nodes[c]
		out = p.render(append(out, p.doc.text[at:k.start]...), c)
		at = k.end
	}
	return append(out, p.doc.text[at:n.end]...)
}

// ReplaceNewlines replaces line feeds in a strict JSON text by spaces, in place. They can
// only be between tokens: strings contain none.
func ReplaceNewlines(text []byte) {
	for i := bytes.IndexByte(text, '\n'); i >= 0; i = bytes.IndexByte(text, '\n') {
		text[i] = ' '
		text = text[i+1:]
	}
}
