package tools

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
)

// maxImage is the size of an image, in bytes.
const maxImage = 20 << 20

var dataURL = regexp.MustCompile(`(?i)^data:[^,;]*(?:;[^,;]*)*;base64,`)

// checkedImage is an image that Codex can take, or a text in its place. Codex puts one
// that it can't read in words, too, but passes any other address on to the model's
// provider, "file:///etc/passwd" among them (measured with 0.169.0).
func checkedImage(url string) Content {
	head := dataURL.FindString(url)
	if head == "" {
		return leftOut("only data URLs in base64 are passed on")
	}
	text := strings.NewReplacer("\n", "", "\r", "", "\t", "", " ", "").Replace(url[len(head):])
	text = strings.TrimRight(text, "=")
	if base64.RawStdEncoding.DecodedLen(len(text)) > maxImage {
		return leftOut("it is larger than 20 MiB")
	}
	data, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return leftOut("its data is no base64")
	}
	kind := imageKind(data)
	if kind == "" {
		return leftOut("it is neither PNG nor JPEG, GIF or WebP")
	}
	return Content{Image: "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data)}
}

func imageKind(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		return "image/gif"
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

func leftOut(why string) Content { return Content{Text: "[An image is left out: " + why + ".]"} }
