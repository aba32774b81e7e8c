package tools

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

const (
	maxItems  = 512
	maxImages = 36 << 20 // bytes of all data URLs; leaves room for text within 64 MiB per message

	noOutputText = "(The tool returned no output.)"
	noErrorText  = "The tool failed without an error message."
)

// Convert converts a result for Codex. It checks images and truncates texts to maxText
// UTF-16 code units in all, including a notice about the truncation. Texts after it are
// dropped; images stay.
func Convert(r Result, maxText int) Answer {
	items := make([]Content, 0, len(r.Content))
	images, said := 0, false
	for i, c := range r.Content {
		if i == maxItems-1 && len(r.Content) > maxItems {
			items = append(items, Content{Text: fmt.Sprintf("[%d more pieces of the result are left out]", len(r.Content)-i)})
			break
		}
		if c.Image != "" {
			c = checkImage(c.Image)
			if images += len(c.Image); images > maxImages {
				c = omittedImage("the images of this result are too large together")
			}
		}
		c.Text = strings.ToValidUTF8(c.Text, "\uFFFD")
		said = said || c.Text != "" || c.Image != ""
		items = append(items, c)
	}
	switch {
	case said:
	case r.Failed:
		items = []Content{{Text: noErrorText}}
	default:
		items = []Content{{Text: noOutputText}}
	}
	return Answer{Items: truncateTexts(items, maxText), Success: !r.Failed, Timeout: r.Timeout}
}

// truncateTexts truncates the texts of items to most code units in all.
func truncateTexts(items []Content, most int) []Content {
	all := 0
	for _, c := range items {
		all += utf16Len(c.Text)
	}
	if all <= most {
		return items
	}
	notice := truncate(fmt.Sprintf("\n[The result is cut here: it has %d characters, of which %d at most are shown.]", all, most), most)
	left := most - utf16Len(notice)
	kept := items[:0]
	for _, c := range items {
		switch n := utf16Len(c.Text); {
		case c.Image != "" || left >= 0 && n <= left:
			left -= n
			kept = append(kept, c)
		case left >= 0:
			kept = append(kept, Content{Text: truncate(c.Text, left) + notice})
			left = -1
		}
	}
	return kept
}

// Answer is the result of item/tool/call. Codex shows the model the items, but not Success
// (measured with 0.169.0), so a failure must have a text.
type Answer struct {
	Items   []Content
	Success bool
	// Timeout is Result.Timeout. It is not sent to Codex.
	Timeout time.Duration
}

// MarshalJSON encodes the answer for Codex.
func (a Answer) MarshalJSON() ([]byte, error) {
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type image struct {
		Type string `json:"type"`
		URL  string `json:"imageUrl"`
	}
	items := make([]any, len(a.Items))
	for i, item := range a.Items {
		if item.Image != "" {
			items[i] = image{"inputImage", item.Image}
		} else {
			items[i] = text{"inputText", item.Text}
		}
	}
	return json.Marshal(struct {
		Items   []any `json:"contentItems"`
		Success bool  `json:"success"`
	}{items, a.Success})
}

// failureAnswer returns the answer to a failed call.
func failureAnswer(text string, maxText int) Answer {
	return Convert(Result{Content: []Content{{Text: text}}, Failed: true}, maxText)
}

// utf16Len returns the length of s in UTF-16 code units. A text within a limit by that
// count is within it by any other.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// truncate returns the first most UTF-16 code units of s.
func truncate(s string, most int) string {
	for i, r := range s {
		if most -= utf16.RuneLen(r); most < 0 {
			return s[:i]
		}
	}
	return s
}

// maxImage is the maximum size of an image in bytes.
const maxImage = 20 << 20

// imageTypes are the types that Codex accepts.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

var dataURL = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^data:[^,;]*(?:;[^,;]*)*;base64,`) })

// checkImage returns an image that Codex accepts, or a text instead. Codex replaces an
// image that it can't read, but forwards any other URL to the model's provider, even
// "file:///etc/passwd" (measured with 0.169.0).
func checkImage(url string) Content {
	head := dataURL().FindString(url)
	if head == "" {
		return omittedImage("only data URLs in base64 are passed on")
	}
	text := strings.NewReplacer("\n", "", "\r", "", "\t", "", " ", "").Replace(url[len(head):])
	text = strings.TrimRight(text, "=")
	if base64.RawStdEncoding.DecodedLen(len(text)) > maxImage {
		return omittedImage("it is larger than 20 MiB")
	}
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return omittedImage("its data is not base64")
	}
	kind := http.DetectContentType(data)
	if !slices.Contains(imageTypes, kind) {
		return omittedImage("it is not PNG, JPEG, GIF or WebP")
	}
	return Content{Image: "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)}
}

func omittedImage(why string) Content { return Content{Text: "[An image is left out: " + why + ".]"} }
