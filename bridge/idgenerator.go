package bridge

import (
	"crypto/rand"
	"strconv"
	"sync/atomic"

	"codex-bridge/rpc"
)

// ownIDs makes the ids of the bridge's own requests to one side. Nobody can guess them; who
// has seen some, which is the side that is asked, can.
type idGenerator struct {
	prefix string
	n      atomic.Int64
}

func newIDGenerator() *idGenerator { return &idGenerator{prefix: "codex-bridge-" + rand.Text() + "-"} }

func (o *idGenerator) next() rpc.ID {
	return rpc.NewStringID(o.prefix + strconv.FormatInt(o.n.Add(1), 10))
}

// some tells whether there are any.
func (o *idGenerator) used() bool { return o.n.Load() > 0 }

// made tells whether the id of that rpc.ID.Key is of these, whether it waits for an answer
// or not.
func (o *idGenerator) generated(key string) bool { return hasPrefix(o, key) }

// madeRaw is made for a key that is no string. It does not allocate.
func (o *idGenerator) generatedRaw(key []byte) bool { return hasPrefix(o, key) }

func hasPrefix[K string | []byte](o *idGenerator, key K) bool {
	n := 1 + len(o.prefix)
	return len(key) > n && key[0] == '"' && string(key[1:n]) == o.prefix
}
