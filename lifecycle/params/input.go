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

// Written is an item that is left as it is.
func Written(item json.RawMessage) Item { return Item{written: string(item)} }

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

// Text is a text as an item.
func Text(text string) Item { return Item{Text: text} }

// badImage stands where an image could not be read.
const badImage = "[an image that could not be read was left out]"

// IsText reports whether it is a text that Text made.
func (i Item) IsText() bool { return i.written == "" && i.URL == "" && i.Path == "" }

// Unreadable stands for an image that could not be read.
func Unreadable() Item { return Text(badImage) }

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// Image is an image as an item, from its bytes in base64: what kind it is the bytes tell,
// not its label. What is no image that models take is a text that says so.
func Image(data string) Item {
	bytes, err := base64.StdEncoding.DecodeString(strings.TrimSpace(data))
	if err != nil {
		return Unreadable()
	}
	kind := http.DetectContentType(bytes)
	if !slices.Contains(imageTypes, kind) {
		return Unreadable()
	}
	return Item{URL: "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(bytes)}
}
