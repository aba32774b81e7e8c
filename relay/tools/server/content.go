package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"codex-bridge/relay/tools"
)

// fromMCP makes a result of an MCP server's. What the model can't be shown is described
// to it.
func fromMCP(r *mcp.CallToolResult) tools.Result {
	result := tools.Result{Failed: r.IsError}
	for _, c := range r.Content {
		result.Content = append(result.Content, piece(c))
	}
	if len(result.Content) == 0 && r.StructuredContent != nil {
		if text, err := json.Marshal(r.StructuredContent); err == nil {
			result.Content = []tools.Content{{Text: string(text)}}
		}
	}
	if r.NeedsInput() {
		return tools.Result{Failed: true, Content: []tools.Content{{Text: "The server asks for more input, which it can't be given here."}}}
	}
	return result
}

func piece(c mcp.Content) tools.Content {
	switch c := c.(type) {
	case *mcp.TextContent:
		return tools.Content{Text: c.Text}
	case *mcp.ImageContent:
		return image(c.MIMEType, c.Data)
	case *mcp.AudioContent:
		return tools.Content{Text: fmt.Sprintf("[audio, %s, %d bytes: not shown]", kind(c.MIMEType), len(c.Data))}
	case *mcp.ResourceLink:
		return tools.Content{Text: linked(c)}
	case *mcp.EmbeddedResource:
		if c.Resource != nil {
			return resource(c.Resource)
		}
	}
	return tools.Content{Text: "[content of an unknown kind: not shown]"}
}

func resource(r *mcp.ResourceContents) tools.Content {
	switch {
	case r.Blob == nil:
		return tools.Content{Text: fmt.Sprintf("[resource %s, %s]\n%s", r.URI, kind(r.MIMEType), r.Text)}
	case strings.HasPrefix(r.MIMEType, "image/"):
		return image(r.MIMEType, r.Blob)
	}
	return tools.Content{Text: fmt.Sprintf("[resource %s, %s, %d bytes: not shown]", r.URI, kind(r.MIMEType), len(r.Blob))}
}

func linked(l *mcp.ResourceLink) string {
	text := "[link to the resource " + l.URI
	if l.Name != "" {
		text += ", " + l.Name
	}
	if l.MIMEType != "" {
		text += ", " + l.MIMEType
	}
	if l.Size != nil {
		text += fmt.Sprintf(", %d bytes", *l.Size)
	}
	text += "]"
	if l.Description != "" {
		text += " " + l.Description
	}
	return text
}

// image is a data URL. Whether it is an image is for who shows it to find out.
func image(mime string, data []byte) tools.Content {
	return tools.Content{Image: "data:" + kind(mime) + ";base64," + base64.StdEncoding.EncodeToString(data)}
}

func kind(mime string) string {
	if mime == "" {
		return "application/octet-stream"
	}
	return mime
}
