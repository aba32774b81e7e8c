package params

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Item is one item of a turn's input: a text, an image, or an unchanged item of another type.
type Item struct {
	Text string
	URL  string // of an image; may be a data: URL
	Path string // of an image file that Codex reads

	written string
}

// RawItem returns an item with the given JSON text.
func RawItem(item json.RawMessage) Item { return Item{written: string(item)} }

// MarshalJSON returns the item in Codex's form.
func (i Item) MarshalJSON() ([]byte, error) {
	switch {
	case i.written != "":
		return []byte(i.written), nil
	case i.URL != "":
		return Encode(struct {
			Type string `json:"type"`
			URL  string `json:"url"`
		}{"image", i.URL})
	case i.Path != "":
		return Encode(struct {
			Type string `json:"type"`
			Path string `json:"path"`
		}{"localImage", i.Path})
	}
	return Encode(struct {
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

// imageItem returns an item for an image in base64. The bytes decide the type. If models do not
// take that type, it returns a text that says so.
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
