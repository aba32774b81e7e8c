package params

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// Input is the content of a message.
type Input struct {
	Items []Item
	Text  string // all its texts, one a line; it may answer a question of the model
}

// WithPrefix returns the items with text added before the first text; "" changes nothing.
func (in Input) WithPrefix(text string) []Item {
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

var errBlank = errors.New("input: the text is blank")

// ReadInput reads a message: a text, without the white space around it, or a list of items.
func ReadInput(v rpc.Value) (Input, error) {
	if text, ok := v.Text(); ok {
		if text = strings.TrimSpace(text); text == "" {
			return Input{}, errBlank
		}
		return Input{[]Item{TextItem(text)}, text}, nil
	}
	if v.Kind() != rpc.Array {
		return Input{}, fmt.Errorf("input: it is %s; give a string or a list of items", v.Kind())
	}
	if n := v.Len(); n == 0 || n > maxItems {
		return Input{}, fmt.Errorf("input: it has %d items; give 1 to %d", n, maxItems)
	}
	var in Input
	var texts []string
	onlyTexts := true
	n := 0
	for e := range v.Elements() {
		kind, _ := e.Get("type").Text()
		onlyTexts = onlyTexts && kind == "text"
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
		return Input{}, errors.New("input: all its items are files other than images, which Codex can't take")
	}
	in.Text = strings.Join(texts, "\n")
	if onlyTexts && strings.TrimSpace(in.Text) == "" {
		return Input{}, errBlank
	}
	return in, nil
}

// readItem reads an item. It returns nil for an item to omit.
func readItem(e rpc.Value) (item *Item, text string, err error) {
	kind, ok := e.Get("type").Text()
	if !ok {
		return nil, "", errors.New("it has no type")
	}
	switch kind {
	case "text":
		if text, ok = e.Get("text").Text(); !ok {
			return nil, "", errors.New("text: it is missing or not a string")
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

// readImage reads an image in the bridge's form. It returns nil for an image in Codex's form. It
// returns a text with the reason instead of an image on a network share.
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
			return nil, nil // Codex's form, with other members such as the detail
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
