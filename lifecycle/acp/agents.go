package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are what Agents are made of. The functions are called from several goroutines.
type Options struct {
	Settings func() Settings
	Env      []string // of the agents
	Dir      string   // where an agent works that is given no folder
	Version  string   // of the bridge
	Judge    func(context.Context, Ask) Answer
	Tell     func(Update)
	Place    Place
	// Journal makes the log of what a conversation is told of a child; nil: there is none.
	Journal func(name string) (file io.WriteCloser, path string, err error)
	Open    time.Duration // how long an agent may take to open its session; 0: half a minute
	Turn    time.Duration // how long a turn may take; 0: an hour
	Grace   time.Duration // how long an agent has to stop; 0: two seconds
	Idle    time.Duration // how long a session stays that nobody uses; 0: half an hour
	Log     *slog.Logger
}

// Most is how many agents work at once.
const Most = 16

// Agents are the children of this bridge.
type Agents struct {
	o    Options
	work sync.WaitGroup
	ctx  context.Context
	stop context.CancelCauseFunc

	once     once
	mu       sync.Mutex
	children map[string]*session
}

// New makes an Agents that has no child.
func New(o Options) *Agents {
	o.Open = cmp.Or(o.Open, 30*time.Second) // many are Node programs
	o.Turn = cmp.Or(o.Turn, time.Hour)
	o.Grace = cmp.Or(o.Grace, 2*time.Second)
	o.Idle = cmp.Or(o.Idle, 30*time.Minute)
	a := &Agents{o: o, children: make(map[string]*session)}
	a.ctx, a.stop = context.WithCancelCause(context.Background())
	return a
}

// errGone is why the agents' work ends with the bridge.
var errGone = errors.New("the bridge has ended")

// Spawn has an agent do a task. It returns when the agent has the task, or when it is known
// that it won't.
func (a *Agents) Spawn(ctx context.Context, r Request, who Requester) Result {
	return a.once.do(ctx, r.Once, func() Result { return a.spawn(ctx, r, who) })
}

func (a *Agents) spawn(ctx context.Context, r Request, who Requester) Result {
	if err := a.begin(); err != nil {
		return *no(Failed, "%v", err)
	}
	defer a.work.Done()
	child, refused := a.o.Settings().Check(r, who, a.o.Place)
	if refused != nil {
		return *refused
	}
	folder, err := a.folder(child.Cwd)
	if err != nil {
		return *no(Failed, "%v", err)
	}
	if strings.TrimSpace(child.Task) == "" {
		return *no(Failed, "there is no task")
	}
	child.Cwd = folder
	return Spawn(ctx, steps{a}, child, r.Thread)
}

// begin has Close wait for what is begun here, unless it has been called.
func (a *Agents) begin() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := context.Cause(a.ctx); err != nil {
		return err
	}
	a.work.Add(1)
	return nil
}

func (a *Agents) folder(cwd string) (string, error) {
	if cwd == "" {
		cwd = a.o.Dir
	}
	if !filepath.IsAbs(cwd) {
		return "", fmt.Errorf("the folder %q is not absolute", cwd)
	}
	return filepath.Clean(cwd), nil
}

// Info is a child as it is shown.
type Info struct {
	Child   string    `json:"childSessionKey"`
	Agent   string    `json:"agentId"`
	Label   string    `json:"label,omitempty"`
	Mode    Mode      `json:"mode"`
	State   State     `json:"state"`
	Run     string    `json:"runId,omitempty"` // the last one
	Cwd     string    `json:"cwd"`
	Began   time.Time `json:"startedAt"`
	Spawner string    `json:"spawnedBy"`
	Session string    `json:"sessionId,omitempty"` // the agent's own name of it
	Problem string    `json:"error,omitempty"`
}

// List are the children, the oldest first.
func (a *Agents) List() []Info {
	a.mu.Lock()
	all := make([]*session, 0, len(a.children))
	for _, s := range a.children {
		all = append(all, s)
	}
	a.mu.Unlock()
	infos := make([]Info, len(all))
	for i, s := range all {
		infos[i] = s.info()
	}
	slices.SortFunc(infos, func(x, y Info) int { return cmp.Or(x.Began.Compare(y.Began), cmp.Compare(x.Child, y.Child)) })
	return infos
}

// errUnknown is that of a key of no child.
var errUnknown = errors.New("there is no such child; bridge/acp/list has those that there are")

func (a *Agents) child(key string) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.children[key]; s != nil {
		return s, nil
	}
	return nil, errUnknown
}

// Cancel ends a child's turn, and the child with it unless it is a session that stays. It
// returns when it has ended.
func (a *Agents) Cancel(ctx context.Context, key string) error {
	s, err := a.child(key)
	if err != nil {
		return err
	}
	return s.cancel(ctx)
}

// End ends a child, whatever it is doing.
func (a *Agents) End(ctx context.Context, key string) error {
	s, err := a.child(key)
	if err != nil {
		return err
	}
	return s.end(ctx)
}

// Send has a session that stays take another turn, after those before. run is what it is
// called.
func (a *Agents) Send(key, text string) (run string, err error) {
	s, err := a.child(key)
	if err != nil {
		return "", err
	}
	if s.child.Mode != Session {
		return "", errors.New("a run takes no more turns; spawn another one")
	}
	return s.send(text)
}

// Close ends all children, and waits for it until ctx ends: who hears of them may hear no
// more.
func (a *Agents) Close(ctx context.Context) {
	a.mu.Lock() // after which nothing is begun
	a.stop(errGone)
	a.mu.Unlock()
	ended := make(chan struct{})
	go func() { // ends with the children, unless somebody does not listen
		a.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// steps are those of a spawn.
type steps struct{ *Agents }

// Create implements Steps.
func (a steps) Create(_ context.Context, c Child) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.children) >= Most {
		return fmt.Errorf("%d agents are at work, and more are not started at once; wait for one of them, or cancel it", Most)
	}
	a.children[c.Key] = newSession(a.Agents, c)
	return nil
}

// Initialize implements Steps.
func (a steps) Initialize(ctx context.Context, c Child) error {
	s, err := a.child(c.Key)
	if err != nil {
		return err
	}
	return s.open(ctx)
}

// Bind implements Steps. The place is the host's: it is sent what the session is called, before the task.
func (a steps) Bind(_ context.Context, c Child) error {
	s, err := a.child(c.Key)
	if err != nil {
		return err
	}
	s.tell("", Update{Kind: Bound, Label: c.Label, Parent: c.SpawnedBy, Session: s.info().Session})
	return nil
}

// Relay implements Steps. Without its log the work is told all the same.
func (a steps) Relay(c Child, run string) (Relay, string) {
	s, err := a.child(c.Key)
	if err != nil {
		return nil, ""
	}
	o := StreamOptions{Run: run, Parent: c.SpawnedBy, Child: c.Key, Agent: c.Agent}
	o.Tell = func(n Notice) {
		a.o.Tell(Update{Child: c.Key, Run: run, Agent: c.Agent, Kind: Noticed, Text: n.Text, Parent: c.SpawnedBy, Context: n.Context})
	}
	path := ""
	if a.o.Journal != nil {
		if o.Log, path, err = a.o.Journal(strings.ReplaceAll(c.Key, ":", "-") + ".acp-stream.jsonl"); err != nil {
			a.o.Log.Warn("there is no log of what is told of an agent", "child", c.Key, "error", err)
			o.Log, path = nil, ""
		}
	}
	stream := NewStream(o)
	s.streams(stream)
	return stream, path
}

// Dispatch implements Steps.
func (a steps) Dispatch(_ context.Context, c Child, key string) (string, error) {
	s, err := a.child(c.Key)
	if err != nil {
		return "", err
	}
	return key, s.take(turn{run: key, text: c.Task})
}

// Clean implements Steps.
func (a steps) Clean(c Child, noted bool) {
	s, err := a.child(c.Key)
	if err != nil || !noted {
		return
	}
	if err := s.end(context.Background()); err != nil && !errors.Is(err, errStarting) { // then nothing is left
		a.o.Log.Warn("an agent is left", "child", c.Key, "error", err)
	}
	s.streams(nil)
	a.forget(s)
}

func (a *Agents) forget(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.children, s.child.Key)
}
