package input

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"codex-bridge/lifecycle/params"
)

// Media is a file that comes with a message, by its path or its address.
type Media struct {
	Path string // comes before the address
	URL  string
	Type string // by which it is known, if it is: image/png
}

// imageSuffixes tell an image where nothing else does.
var imageSuffixes = []string{".avif", ".gif", ".jpeg", ".jpg", ".png", ".webp"}

// Item is the image as an item. ok is false for what is no image, or can't be one.
func (m Media) Item() (item params.Item, ok bool) {
	place := m.Path
	if place == "" {
		place = m.URL
	}
	if place == "" || !m.isImage(place) {
		return params.Item{}, false
	}
	if m.Path != "" {
		return params.Item{Path: m.Path}, true
	}
	u, err := url.Parse(m.URL)
	switch {
	case err != nil:
		return params.Item{}, false
	case u.Scheme == "file":
		if u.Host != "" && u.Host != "localhost" || strings.HasPrefix(u.Path, "//") || u.Path == "" {
			return params.Item{}, false // another machine's
		}
		return params.Item{Path: u.Path}, true
	case u.Scheme != "" || strings.HasPrefix(m.URL, "//"):
		return params.Item{URL: m.URL}, true
	}
	return params.Item{Path: m.URL}, true
}

func (m Media) isImage(place string) bool {
	if kind := strings.ToLower(strings.TrimSpace(m.Type)); kind != "" {
		return strings.HasPrefix(kind, "image/")
	}
	if u, err := url.Parse(place); err == nil && m.Path == "" {
		place = u.Path
	}
	return slices.Contains(imageSuffixes, strings.ToLower(path.Ext(place)))
}
