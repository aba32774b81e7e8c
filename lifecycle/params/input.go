package params

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"codex-bridge/rpc"
)

// Input is what a message consists of.
type Input struct {
	Items []Item
	Text  string // of all its texts, a line each: what may answer a question
}

// After returns the items with a text before the first text; "" changes nothing.
func (in Input) After(text string) []Item {
	if text == "" {
		return in.Items
	}
	items := slices.Clone(in.Items)
	if i := slices.IndexFunc(items, Item.IsText); i >= 0 {
		items[i].Text = text + items[i].Text
		return items
	}
	return append([]Item{TextItem(text)}, items...)
}

// maxItems is the maximum number of items in a message.
const maxItems = 256

// ReadInput reads a message: a text, or a list of items.
func ReadInput(v rpc.Value) (Input, error) {
	if text, ok := v.Text(); ok {
		if strings.TrimSpace(text) == "" {
			return Input{}, errors.New("input: it is blank")
		}
		return Input{[]Item{TextItem(text)}, text}, nil
	}
	if v.Kind() != rpc.Array {
		return Input{}, fmt.Errorf("input: it is %s; give a text, or a list of items", v.Kind())
	}
	if n := v.Len(); n == 0 || n > maxItems {
		return Input{}, fmt.Errorf("input: it has %d items; give 1 to %d", n, maxItems)
	}
	var in Input
	var texts []string
	n := 0
	for e := range v.Elements() {
		item, text, err := readItem(e)
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

// readItem reads an item; nil is an item to omit.
func readItem(e rpc.Value) (item *Item, text string, err error) {
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
			t := TextItem(text)
			return &t, text, nil
		}
	case "image":
		item, err := readImage(e)
		if item != nil || err != nil {
			return item, "", err
		}
	case "media":
		item, err := readMedia(e)
		return item, "", err
	}
	written := RawItem(e.Raw())
	return &written, text, nil
}

// readImage reads an image in the bridge's own form; nil is an item in Codex's own form. An
// image on a share of another machine is replaced by a text with the reason.
func readImage(e rpc.Value) (*Item, error) {
	data, hasData := e.Get("dataBase64").Text()
	path, hasPath := e.Get("path").Text()
	url, hasURL := e.Get("url").Text()
	var item Item
	switch {
	case hasData && !hasPath && !hasURL:
		item = imageItem(data)
	case hasPath && !hasData && !hasURL && path != "":
		item = localImage(media{Path: path})
	case hasData || hasPath:
		return nil, errors.New("give one of url, path and dataBase64")
	case hasURL:
		item = localImage(media{URL: url})
		if item.URL != "" {
			return nil, nil // an address; details beside it stay
		}
	default:
		return nil, nil
	}
	return &item, nil
}

func localImage(m media) Item {
	m.Type = "image/*" // the client calls it an image
	if item, ok := m.item(); ok && !isShare(item.URL) {
		return item
	}
	return unreadableImage()
}

// readMedia reads a file that came with a message; it returns nil for any other file than an image.
func readMedia(e rpc.Value) (*Item, error) {
	var m media
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
	if item, ok := m.item(); ok {
		return &item, nil
	}
	return nil, nil
}
