package neovim

import (
	"fmt"
	"html"
	"strings"
)

// style is how a cell is drawn. A colour is as in CSS; "" is the default.
type style struct {
	foreground, background            string
	bold, italic, underline, reversed bool
}

// newStyle reads the attributes of hl_attr_define.
func newStyle(attributes map[string]any) (s style) {
	for name, value := range attributes {
		switch name {
		case "foreground":
			s.foreground = colour(number([]any{value}, 0))
		case "background":
			s.background = colour(number([]any{value}, 0))
		case "bold":
			s.bold = true
		case "italic":
			s.italic = true
		case "underline", "undercurl":
			s.underline = true
		case "reverse":
			s.reversed = true
		}
	}
	return s
}

func colour(rgb int) string {
	if rgb < 0 {
		return ""
	}
	return fmt.Sprintf("#%06x", rgb)
}

// css returns the declarations of a style whose defaults are those of base.
func (s style) css(base style) string {
	if s.foreground == "" {
		s.foreground = base.foreground
	}
	if s.background == "" {
		s.background = base.background
	}
	if s.reversed {
		s.foreground, s.background = s.background, s.foreground
	}
	css := fmt.Sprintf("color:%s;background:%s", s.foreground, s.background)
	if s.bold {
		css += ";font-weight:bold"
	}
	if s.italic {
		css += ";font-style:italic"
	}
	if s.underline {
		css += ";text-decoration:underline"
	}
	return css
}

// HTML returns the screen as a page, with the colours that Neovim asks for.
func (s *Screen) HTML() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	base := s.styles[0]
	var b strings.Builder
	fmt.Fprintf(&b, "<!doctype html><meta charset=utf-8><title>Neovim</title><style>body{margin:0}pre{display:inline-block;margin:0;padding:8px;font:14px/18px 'DejaVu Sans Mono',monospace;%s}</style><pre>", base.css(base))
	for _, row := range s.shown {
		for len(row) > 0 {
			n, text := 0, ""
			for n < len(row) && row[n].style == row[0].style {
				text += row[n].text
				n++
			}
			fmt.Fprintf(&b, `<span style="%s">%s</span>`, s.styles[row[0].style].css(base), html.EscapeString(text))
			row = row[n:]
		}
		b.WriteByte('\n')
	}
	return b.String() + "</pre>\n"
}
