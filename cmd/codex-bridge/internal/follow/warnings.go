package follow

import (
	"encoding/json"
	"fmt"
	"io"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/rpc"
)

// warn prints on Err what the user must know of a notification, once: a warning of Codex or of the bridge, and what
// the policy has refused or changed.
func (s *Screen) warn(method string, params rpc.Value) {
	for _, notice := range noticesOf(method, params) {
		if s.noticed[notice.Key] {
			continue
		}
		if s.noticed == nil {
			s.noticed = make(map[string]bool)
		}
		s.noticed[notice.Key] = true
		s.interrupt(func(err io.Writer) {
			line := "warning: " + notice.Text
			if s.Line != nil {
				s.Line(line)
			} else {
				fmt.Fprintln(err, line)
			}
		})
	}
}

// noticesOf returns the sentences for the user of a notification, each safe to print.
func noticesOf(method string, params rpc.Value) []guard.Notice {
	if text, ok := warningOf(method, params); ok && method != "deprecationNotice" { // which is about the bridge's own requests
		return []guard.Notice{{Key: text, Text: display.Lines(text)}}
	}
	var applied guard.Applied
	if method != "bridge/policy/applied" || json.Unmarshal(params.Raw(), &applied) != nil {
		return nil
	}
	notices := applied.Notices()
	for i := range notices {
		notices[i].Text = display.Line(notices[i].Text)
	}
	return notices
}
