// Package programs decides the program starts of tool calls. It remembers the calls that run, and the answers of
// people about their programs. It also keeps the refused programs, which the model reads with the result of the call.
//
// All methods may be called concurrently.
package programs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/supervise"
	"codex-bridge.example/relay/hook"
)

// Decision is the decision on a program start.
type Decision struct {
	Refusal string // why it must not start; "" if it may
	Lasts   bool   // it counts for equal starts of the call: people have decided, or the use of a rule is logged
	Consent string // names the rule by which a person has accepted the program, with all that it starts by that rule
	Basis   *policy.Basis
	Report  func() // logs a refusal and tells the user; nil: there is nothing to tell
}

// Client decides for the client that a call belongs to.
type Client interface {
	// Program decides the start of a program of a call. It may wait for a person.
	Program(ctx context.Context, call *hook.Call, start supervise.Start) Decision
	// Again decides a start of which an equal one has begun by an earlier decision that lasts. It asks no person. ok is
	// false if the rules have changed so that Program must decide.
	Again(ctx context.Context, call *hook.Call, start supervise.Start, earlier Decision) (d Decision, ok bool)
	// Refuse refuses the start of a program of a call for another reason than a rule's decision.
	Refuse(call *hook.Call, start supervise.Start, reason string) Decision
	// More logs that more starts of a call were refused, n times, than have an entry of their own.
	More(call *hook.Call, n int)
}

// Unknown decides the starts whose call is not known, about which no person decides. Its functions are as those of Client.
type Unknown struct {
	Decide func(supervise.Start) Decision
	Refuse func(start supervise.Start, reason string) Decision
	More   func(n int)
}

// Limits of one call.
const (
	maxCalls   = 4096 // that are remembered
	maxAnswers = 4096 // lasting decisions
	maxReports = 256  // refusals that are logged one by one, and then counted; of programs without a call, in a minute
	maxTold    = 8    // refused programs in the result of a call
)

// Programs has the calls of one Codex.
type Programs struct {
	decides Unknown
	unknown running // the starts whose call is not known

	mu    sync.Mutex
	calls map[callKey]*running
	order []callKey
}

type callKey struct{ thread, turn, id string }

// running is a call that may start programs.
type running struct {
	call   *hook.Call
	client Client
	turn   context.Context // ends with the turn: then no person is asked
	end    context.CancelFunc

	mu       sync.Mutex
	answers  map[[sha256.Size]byte]Decision
	reported map[[sha256.Size]byte]bool
	since    time.Time // of the first of reported, for programs without a call
	unlogged int       // refused starts that have no entry in the decision log
	untold   []string  // refused programs that the model has not been told of
	more     int       // refused programs that are not in untold
}

// New returns Programs.
func New(unknown Unknown) *Programs {
	return &Programs{decides: unknown, calls: make(map[callKey]*running)}
}

// Started must be called before Codex runs a call, with the client that it belongs to. It returns the call for
// the supervisor.
func (p *Programs) Started(call *hook.Call, line string, client Client) supervise.Call {
	key := callKey{call.Thread(), call.TurnID, call.ToolUseID}
	one := &running{call: call, client: client}
	one.turn, one.end = context.WithCancel(context.Background())
	if forgotten := p.add(key, one); forgotten != nil {
		forgotten.end()
		forgotten.logMore()
	}
	return supervise.Call{Thread: key.thread, Turn: key.turn, ID: key.id, Line: line}
}

// add adds a call, and returns the one that is forgotten for it, if any.
func (p *Programs) add(key callKey, one *running) (forgotten *running) {
	p.mu.Lock()
	defer p.mu.Unlock()
	forgotten = p.calls[key]
	if forgotten == nil {
		p.order = append(p.order, key)
	}
	if p.calls[key] = one; len(p.order) > maxCalls {
		forgotten = p.calls[p.order[0]]
		delete(p.calls, p.order[0])
		p.order = p.order[1:]
	}
	return forgotten
}

// Decide reports whether a program may start. It may wait for a person.
func (p *Programs) Decide(ctx context.Context, start supervise.Start) bool {
	if len(start.Calls) == 0 {
		return p.decideUnassigned(start)
	}
	for _, c := range start.Calls {
		if !p.decideFor(ctx, c, start) {
			return false
		}
	}
	return true
}

func (p *Programs) decideUnassigned(start supervise.Start) bool {
	return p.noteUnassigned(p.decides.Decide(start), start)
}

func (p *Programs) noteUnassigned(d Decision, start supervise.Start) (starts bool) {
	if n := p.unknown.forgetReports(time.Minute); n > 0 {
		p.decides.More(n)
	}
	return p.unknown.note(d, start)
}

func (p *Programs) decideFor(ctx context.Context, c supervise.Call, start supervise.Start) bool {
	one := p.find(callKey{c.Thread, c.Turn, c.ID})
	if one == nil { // forgotten
		return p.decideUnassigned(start)
	}
	d, answered := one.answer(start)
	if answered && d.Refusal == "" {
		d, answered = one.client.Again(ctx, one.call, start, d)
	}
	if !answered {
		d = one.decide(ctx, start)
	}
	if d.Refusal == "" && d.Consent != "" && start.Consent != nil {
		start.Consent(d.Consent)
	}
	return one.note(d, start)
}

// find returns a call; nil if it is forgotten.
func (p *Programs) find(key callKey) *running {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[key]
}

// decide decides a start without an earlier answer that counts. When the turn ends, ctx ends for the client.
func (r *running) decide(ctx context.Context, start supervise.Start) Decision {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.turn, func() { cancel(ErrTurnEnded) })()
	if r.turn.Err() != nil {
		cancel(ErrTurnEnded)
	}
	return r.client.Program(ctx, r.call, start)
}

// answer returns the lasting decision about an equal start.
func (r *running) answer(start supervise.Start) (d Decision, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.answers) == 0 || !isKnown(start) {
		return Decision{}, false
	}
	if d, ok = r.answers[fileKey(start)]; !ok {
		d, ok = r.answers[nameKey(start)]
	}
	return d, ok
}

// ErrTurnEnded is why no person is asked about a program of a call whose turn has ended.
var ErrTurnEnded = errors.New("the turn of the call has ended")

// EndTurns must be called when turns of a thread have ended; without turns, all of them. Their commands may run on.
func (p *Programs) EndTurns(thread string, turns ...string) {
	var ended []*running
	p.mu.Lock()
	for key, one := range p.calls {
		if key.thread == thread && (len(turns) == 0 || slices.Contains(turns, key.turn)) {
			one.end()
			ended = append(ended, one)
		}
	}
	p.mu.Unlock()
	for _, one := range ended {
		one.logMore()
	}
}

// isKnown reports whether all of a start is known. An answer about one that is not counts for no other.
func isKnown(start supervise.Start) bool {
	return start.Unreadable == "" && len(start.Programs) > 0 && !slices.ContainsFunc(start.Programs, func(p supervise.Program) bool { return p.File == "" })
}

// Digest identifies what starts, for remembered answers; ok is false if that is not known. Two starts with the same
// digest run the same file by the same name, with the same words in the same folder.
func Digest(start supervise.Start) (digest string, ok bool) {
	key := keyOf("start", start.Programs)
	return hex.EncodeToString(key[:]), isKnown(start)
}

// maxText bounds Text, in bytes.
const maxText = 64 << 10

// Text returns the program with its words, for the question to a person. It cuts texts of more than maxText.
func Text(start supervise.Start) string {
	text := start.Words()
	if more := len(text) - maxText; more > 0 {
		text = display.Start(text, maxText) + "… and " + strconv.Itoa(more) + " more bytes"
	}
	return text
}

// fileKey identifies a start by the file: two with the same key run the same program with the same words in the
// same folder.
func fileKey(start supervise.Start) [sha256.Size]byte {
	programs := slices.Clone(start.Programs)
	for i := range programs {
		programs[i].Path = ""
	}
	return keyOf("file", programs)
}

// nameKey identifies a start by the name. Some shells try a refused program in the next folder of PATH, which is
// another file.
func nameKey(start supervise.Start) [sha256.Size]byte {
	programs := slices.Clone(start.Programs)
	for i := range programs {
		programs[i].Path, programs[i].File = path.Base(programs[i].Path), ""
	}
	return keyOf("name", programs)
}

// keyOf quotes all texts, since their bytes may be no UTF-8, which JSON replaces.
func keyOf(kind string, programs []supervise.Program) [sha256.Size]byte {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q\n", kind)
	for _, p := range programs {
		fmt.Fprintf(sum, "%q %q %q %q\n", p.Path, p.File, p.Dir, p.Args)
	}
	return [sha256.Size]byte(sum.Sum(nil))
}
