package tools

import (
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/gowebpki/jcs"

	"codex-bridge/relay/tools/loops"
)

// maxWatched is how many threads are watched for loops at once.
const maxWatched = 1024

// watches are the loops.Watch of the running turns, one a thread.
type watches struct {
	limits loops.Limits
	mu     sync.Mutex
	of     map[string]*watched
}

type watched struct {
	turn  string
	watch *loops.Watch
}

func (w *watches) on(call Call) *loops.Watch {
	if t := w.of[call.Thread]; t != nil && t.turn == call.Turn {
		return t.watch
	}
	if len(w.of) >= maxWatched {
		for thread := range w.of { // any: to forget one costs a few repeats
			delete(w.of, thread)
			break
		}
	}
	t := &watched{call.Turn, loops.New(w.limits)}
	w.of[call.Thread] = t
	return t.watch
}

// judge is what is thought of a call. One that is to be refused is remembered as such.
func (w *watches) judge(call Call, c loops.Call) loops.Verdict {
	w.mu.Lock()
	defer w.mu.Unlock()
	watch := w.on(call)
	v := watch.Judge(c)
	if v.Level == loops.Block {
		watch.Refused(c)
	}
	return v
}

func (w *watches) made(call Call, c loops.Call, a Answer) {
	text, _ := json.Marshal(a) // texts
	outcome := sha256.Sum256(text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on(call).Made(c, string(outcome[:]))
}

// loopCall is a call as the detection of loops sees it.
func loopCall(call Call, unknown, poll bool) loops.Call {
	text, err := jcs.Transform(call.Arguments)
	if err != nil {
		text = call.Arguments
	}
	digest := sha256.Sum256(text)
	return loops.Call{Tool: key(call.Namespace, call.Name), Arguments: string(digest[:]), Unknown: unknown, Poll: poll}
}
