package threads

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"

	"codex-bridge.example/bridge/store"
	"codex-bridge.example/rpc"
)

// page is the part of the list of bindings that a request asks for.
type page struct {
	limit int
	after *cursor // nil: from the start
}

// cursor is the last binding of a page.
type cursor struct {
	Updated time.Time
	Session string
}

// readPage reads {cursor?, limit?}.
func readPage(params rpc.Value) (page, error) {
	p := page{limit: Most}
	if limit := params.Get("limit"); limit.Exists() && limit.Kind() != rpc.Null {
		n, err := strconv.Atoi(string(limit.Raw()))
		if err != nil || n < 1 {
			return p, rpc.Errorf(rpc.CodeInvalidParams, "params.limit is not a number from 1 on")
		}
		p.limit = min(n, Most)
	}
	at := params.Get("cursor")
	if !at.Exists() || at.Kind() == rpc.Null {
		return p, nil
	}
	text, _ := at.Text()
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &p.after)
	}
	if err != nil || p.after == nil {
		return p, rpc.Errorf(rpc.CodeInvalidParams, "params.cursor is not the nextCursor of an earlier response")
	}
	return p, nil
}

// bindings returns the bindings of the page, and the cursor of the next one; nil if there is none.
func (p page) bindings(ctx context.Context, s *store.Store) (all []store.Binding, next *string, err error) {
	if p.after == nil {
		all, err = s.Bindings(ctx, p.limit+1)
	} else {
		all, err = s.BindingsAfter(ctx, p.after.Updated, p.after.Session, p.limit+1)
	}
	if err != nil || len(all) <= p.limit {
		return all, nil, err
	}
	all = all[:p.limit]
	last := all[p.limit-1]
	text := base64.RawURLEncoding.EncodeToString(rpc.Encode(cursor{last.Updated, last.Session}))
	return all, &text, nil
}
