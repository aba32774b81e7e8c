package params

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Item is one item of a turn's input: a text or an image, or another one as it was written.
type Item struct {
	Text string
	URL  string // of an image, with its data or without; "" for a text
	Path string // of an image that Codex reads

	written string
}

// RawItem returns an item that stays as it is written.
func RawItem(item json.RawMessage) Item { return Item{written: string(item)} }

// MarshalJSON writes what Codex takes. A text has elements, of which there are none.
func (i Item) MarshalJSON() ([]byte, error) {
	switch {
	case i.written != "":
		return []byte(i.written), nil
	case i.URL != "":
		return encode(struct {
			Type string `json:"type"`
			URL  string `json:"url"`
		}{"image", i.URL})
	case i.Path != "":
		return encode(struct {
			Type string `json:"type"`
			Path string `json:"path"`
		}{"localImage", i.Path})
	}
	return encode(struct {
		Type     string   `json:"type"`
		Text     string   `json:"text"`
		Elements []string `json:"text_elements"`
	}{"text", i.Text, []string{}})
}

// TextItem returns an item with a text.
func TextItem(text string) Item { return Item{Text: text} }

// badImage is the text in place of an image that could not be read.
const badImage = "[an image that could not be read was left out]"

// IsText reports whether TextItem returned the item.
func (i Item) IsText() bool { return i.written == "" && i.URL == "" && i.Path == "" }

// unreadableImage returns the item that replaces an image that could not be read.
func unreadableImage() Item { return TextItem(badImage) }

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// imageItem returns an item with an image, from its bytes in base64. The bytes decide the
// type. If models do not take the image, the item is a text that says so.
func imageItem(data string) Item {
	bytes, err := base64.StdEncoding.DecodeString(strings.TrimSpace(data))
	if err != nil {
		return unreadableImage()
	}
	kind := http.DetectContentType(bytes)
	if !slices.Contains(imageTypes, kind) {
		return unreadableImage()
	}
	return Item{URL: "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(bytes)}
}
