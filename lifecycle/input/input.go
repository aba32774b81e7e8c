// Package input reads what a message consists of, and writes it as the items that Codex
// takes for a turn's input.
//
// A text is a string or an item of type text. An image is an item of type image with one
// of url, path and dataBase64; the bytes of its data decide its type. A file that came
// with a message is an item of type media with a path, a url or both, and its MIME type: one
// that is no image is omitted. Items of other types, such as mentions and skills, are
// Codex's own and stay as they are.
//
// It is pure, reads no file, and may be used by several goroutines.
package input

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"codex-bridge/lifecycle/params"
	"codex-bridge/rpc"
)

// Input is what a message consists of.
type Input struct {
	Items []params.Item
	Text  string // of all its texts, a line each: what may answer a question
}

// After returns the items with a text before the first text; "" changes nothing.
func (in Input) After(text string) []params.Item {
	if text == "" {
		return in.Items
	}
	items := slices.Clone(in.Items)
	if i := slices.IndexFunc(items, params.Item.IsText); i >= 0 {
		items[i].Text = text + items[i].Text
		return items
	}
	return append([]params.Item{params.Text(text)}, items...)
}

// most is how many items one message may have.
const most = 256

// Read reads a message: a text, or a list of items.
func Read(v rpc.Value) (Input, error) {
	if text, ok := v.Text(); ok {
		if strings.TrimSpace(text) == "" {
			return Input{}, errors.New("input: it is blank")
		}
		return Input{[]params.Item{params.Text(text)}, text}, nil
	}
	if v.Kind() != rpc.Array {
		return Input{}, fmt.Errorf("input: it is %s; give a text, or a list of items", v.Kind())
	}
	if n := v.Len(); n == 0 || n > most {
		return Input{}, fmt.Errorf("input: it has %d items; give 1 to %d", n, most)
	}
	var in Input
	var texts []string
	n := 0
	for e := range v.Elements() {
		item, text, err := read(e)
		if err != nil {
			return Input{}, fmt.Errorf("input[%d]: %w", n, err)
		}
		if item != nil {
			in.Items = append(in.Items, *item)
		}
		if text != "" {
			texts = append(texts, text)
		}
		n++
	}
	if len(in.Items) == 0 {
		return Input{}, errors.New("input: it has only files that are no images")
	}
	in.Text = strings.Join(texts, "\n")
	return in, nil
}

// read reads one item; nil is an item to omit.
func read(e rpc.Value) (item *params.Item, text string, err error) {
	kind, ok := e.Get("type").Text()
	if !ok {
		return nil, "", errors.New("it is no item: it has no type")
	}
	switch kind {
	case "text":
		if text, ok = e.Get("text").Text(); !ok {
			return nil, "", errors.New("text: it is not there")
		}
		if !e.Get("text_elements").Exists() {
			t := params.Text(text)
			return &t, text, nil
		}
	case "image":
		item, err := image(e)
		if item != nil || err != nil {
			return item, "", err
		}
	case "media":
		item, err := media(e)
		return item, "", err
	}
	written := params.Written(e.Raw())
	return &written, text, nil
}

// image reads an image in the bridge's own form; nil is an item in Codex's own form. An
// image on a share of another machine is replaced by a text with the reason.
func image(e rpc.Value) (*params.Item, error) {
	data, hasData := e.Get("dataBase64").Text()
	path, hasPath := e.Get("path").Text()
	url, hasURL := e.Get("url").Text()
	var item params.Item
	switch {
	case hasData && !hasPath && !hasURL:
		item = params.Image(data)
	case hasPath && !hasData && !hasURL && path != "":
		item = local(Media{Path: path})
	case hasData || hasPath:
		return nil, errors.New("give one of url, path and dataBase64")
	case hasURL:
		item = local(Media{URL: url})
		if item.URL != "" {
			return nil, nil // an address; details beside it stay
		}
	default:
		return nil, nil
	}
	return &item, nil
}

func local(m Media) params.Item {
	m.Type = "image/*" // the client calls it an image
	if item, ok := m.Item(); ok && !isShare(item.URL) {
		return item
	}
	return params.Unreadable()
}

// media reads a file that came with a message; nil is one that is no image.
func media(e rpc.Value) (*params.Item, error) {
	var m Media
	for name, v := range e.Members() {
		to, ok := map[string]*string{"path": &m.Path, "url": &m.URL, "mime": &m.Type}[name]
		if !ok || v.Kind() == rpc.Null {
			continue
		}
		if *to, ok = v.Text(); !ok {
			return nil, fmt.Errorf("%s: it is %s, not a string", name, v.Kind())
		}
	}
	if m.Path == "" && m.URL == "" {
		return nil, errors.New("give a path, a url or both")
	}
	if item, ok := m.Item(); ok {
		return &item, nil
	}
	return nil, nil
}
