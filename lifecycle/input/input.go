// Package input reads what a message consists of, and writes it as the items that Codex
// takes for a turn's input.
//
// A text is a string or an item of type text. An image is an item of type image with one
// of url, path and dataBase64, and of its data the bytes tell what kind it is. Items of
// other types, mentions and skills among them, are Codex's own and left as they are.
//
// It is pure, reads no file, and may be used by several goroutines.
package input

import (
	"errors"
	"fmt"
	"strings"

	"codex-bridge/lifecycle/params"
	"codex-bridge/rpc"
)

// Input is what a message consists of.
type Input struct {
	Items []params.Item
	Text  string // of all its texts, a line each: what may answer a question
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
		if in.Items = append(in.Items, item); text != "" {
			texts = append(texts, text)
		}
		n++
	}
	in.Text = strings.Join(texts, "\n")
	return in, nil
}

func read(e rpc.Value) (item params.Item, text string, err error) {
	kind, ok := e.Get("type").Text()
	if !ok {
		return item, "", errors.New("it is no item: it has no type")
	}
	switch kind {
	case "text":
		if text, ok = e.Get("text").Text(); !ok {
			return item, "", errors.New("text: it is not there")
		}
		if !e.Get("text_elements").Exists() {
			return params.Text(text), text, nil
		}
	case "image":
		item, own, err := image(e)
		if own || err != nil {
			return item, "", err
		}
	}
	return params.Written(e.Raw()), text, nil
}

// image reads an image in the bridge's own form; own is false for Codex's.
func image(e rpc.Value) (item params.Item, own bool, err error) {
	data, hasData := e.Get("dataBase64").Text()
	path, hasPath := e.Get("path").Text()
	_, hasURL := e.Get("url").Text()
	switch {
	case hasData && !hasPath && !hasURL:
		return params.Image(data), true, nil
	case hasPath && !hasData && !hasURL && path != "":
		return params.Item{Path: path}, true, nil
	case hasData || hasPath:
		return params.Item{}, true, errors.New("give one of url, path and dataBase64")
	}
	return params.Item{}, false, nil
}
