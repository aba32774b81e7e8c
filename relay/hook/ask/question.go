package ask

import (
	"encoding/base64"
	"strconv"
	"time"
)

// question is the request of JSON-RPC by which the bridge is asked, with the end of its
// line. What Codex wrote goes as base64: it must arrive byte by byte, since a JSON
// encoder would make it six times as long, or well-formed. The other texts are plain.
func (a *Asking) question() []byte {
	left := max(time.Until(a.deadline).Milliseconds(), 1)
	b := make([]byte, 0, 256+len(a.words.Ask)+base64.StdEncoding.EncodedLen(len(a.payload)))
	b = append(b, `{"jsonrpc":"2.0","id":1,"method":"hook","params":{"token":"`...)
	b = append(b, a.words.Ask...)
	b = append(b, `","event":"`...)
	b = append(b, a.Event...)
	b = append(b, `","timeoutMs":`...)
	b = strconv.AppendInt(b, left, 10)
	b = append(b, `,"payload":"`...)
	b = base64.StdEncoding.AppendEncode(b, a.payload)
	return append(b, "\"}}\n"...)
}
