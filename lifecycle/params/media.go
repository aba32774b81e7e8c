package params

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

// media is a file attached to a message, given by a path or a URL.
type media struct {
	Path string // preferred to URL
	URL  string
	Type string // the MIME type; "" means unknown
}

// imageSuffixes identify an image of unknown type.
var imageSuffixes = []string{".avif", ".gif", ".jpeg", ".jpg", ".png", ".webp"}

// item returns the item for an image. ok is false for any other file, and for an image on a network
// share.
func (m media) item() (item Item, ok bool) {
	if m.Path == "" && !m.split() || !m.isImage() || isShare(m.Path) {
		return Item{}, false
	}
	if m.Path != "" {
		return Item{Path: m.Path}, true
	}
	return Item{URL: m.URL}, true
}

// split sets Path if URL is a local file. It returns false if URL is empty, invalid, or a file URL
// with another host.
func (m *media) split() bool {
	if isDrive(m.URL) {
		m.Path = m.URL
		return true
	}
	u, err := url.Parse(m.URL)
	switch {
	case err != nil || m.URL == "":
		return false
	case u.Scheme == "file":
		if u.Host != "" && u.Host != "localhost" || u.Path == "" {
			return false
		}
		if m.Path = u.Path; isDrive(u.Path[1:]) {
			m.Path = u.Path[1:] // file:///C:/a.png
		}
	case u.Scheme == "" && !strings.HasPrefix(m.URL, "//"):
		m.Path = m.URL
	}
	return true
}

// isDrive reports whether a path begins with a Windows drive.
func isDrive(p string) bool {
	return len(p) > 2 && p[1] == ':' && (p[2] == '\\' || p[2] == '/') && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

// isShare reports whether a path is on a network share (UNC).
func isShare(p string) bool { return strings.HasPrefix(p, "//") || strings.HasPrefix(p, `\\`) }

func (m media) isImage() bool {
	if kind := strings.ToLower(strings.TrimSpace(m.Type)); kind != "" {
		return strings.HasPrefix(kind, "image/")
	}
	name := m.Path
	if u, err := url.Parse(m.URL); name == "" && err == nil {
		name = u.Path
	}
	return slices.Contains(imageSuffixes, strings.ToLower(path.Ext(name)))
}
