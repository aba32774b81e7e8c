package tools

import (
	"fmt"
	"strings"
)

const (
	maxItems  = 512
	maxImages = 36 << 20 // bytes of all data URLs of an answer: with 64 MiB for a message there is room for the text

	saidNothing = "(The tool has said nothing.)"
	failedMute  = "The tool has failed, and has said nothing of why."
)

// Convert makes a result what Codex takes: images are checked, and texts cut to maxText
// characters in all. What is cut off is told by a notice, within the limit; texts after
// it are dropped, images stay.
func Convert(r Result, maxText int) Answer {
	items := make([]Content, 0, len(r.Content))
	images, said := 0, false
	for i, c := range r.Content {
		if i == maxItems-1 && len(r.Content) > maxItems {
			items = append(items, Content{Text: fmt.Sprintf("[%d more pieces of the result are left out]", len(r.Content)-i)})
			break
		}
		if c.Image != "" {
			c = checkedImage(c.Image)
			if images += len(c.Image); images > maxImages {
				c = leftOut("the images of this result are too large together")
			}
		}
		c.Text = strings.ToValidUTF8(c.Text, "\uFFFD")
		said = said || c.Text != "" || c.Image != ""
		items = append(items, c)
	}
	switch {
	case said:
	case r.Failed:
		items = []Content{{Text: failedMute}}
	default:
		items = []Content{{Text: saidNothing}}
	}
	return Answer{Items: cut(items, maxText), Success: !r.Failed, Timeout: r.Timeout}
}

// cut cuts the texts of items to most characters in all.
func cut(items []Content, most int) []Content {
	all := 0
	for _, c := range items {
		all += characters(c.Text)
	}
	if all <= most {
		return items
	}
	notice := first(fmt.Sprintf("\n[The result is cut here: it has %d characters, of which %d at most are shown.]", all, most), most)
	left := most - characters(notice)
	kept := items[:0]
	for _, c := range items {
		switch n := characters(c.Text); {
		case c.Image != "" || left >= 0 && n <= left:
			left -= n
			kept = append(kept, c)
		case left >= 0:
			kept = append(kept, Content{Text: first(c.Text, left) + notice})
			left = -1
		}
	}
	return kept
}
