package bridge

import "codex-bridge/rpc"

// Held is a request of codex that somebody here may answer: one that the client does not
// hear, or that whoever is quicker answers. It may be used by several goroutines.
type Held struct {
	p  *Proxy
	id rpc.ID
	q  *question
}

// Reply answers codex. It is false when codex waits for no answer any more: it has
// settled the request itself, or there was one; one of the client's, too.
func (h *Held) Reply(result []byte) bool {
	return h.p.asked.answer(h.id.Key(), h.q, func() { h.p.reply(rpc.Reply(h.id, result)) })
}
