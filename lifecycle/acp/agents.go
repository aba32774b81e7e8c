package acp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configure Agents. The functions are called from several goroutines.
type Options struct {
	Settings func() Settings
	// FolderSettings returns the settings of the configuration of a folder, which apply besides Settings. It
	// may be nil.
	FolderSettings func(folder string) (Settings, error)
	Env            []string // of the agents
	Dir            string   // the default working folder of an agent
	Version        string   // of the bridge
	Judge          func(context.Context, Ask) Answer
	Notify         func(Update)
	HasPlace       bool // see Check
	// Journal creates the log of a run's notices. It may be nil.
	Journal func(name string) (file io.WriteCloser, path string, err error)
	Open    time.Duration // how long an agent may take to open its session; 0 means 30 s
	Turn    time.Duration // how long a turn may take; 0 means an hour
	Grace   time.Duration // how long an agent may take to stop; 0 means 2 s
	Idle    time.Duration // how long an unused session stays; 0 means 30 min
	Log     *slog.Logger
}

// MaxAgents is the maximum number of agents at once.
const MaxAgents = 16

// Agents holds the agents of this bridge.
type Agents struct {
	o    Options
	work sync.WaitGroup
	ctx  context.Context
	stop context.CancelCauseFunc

	once     once
	mu       sync.Mutex
	children map[string]*session
}

// New returns an Agents without children.
func New(o Options) *Agents {
	o.Open = cmp.Or(o.Open, 30*time.Second) // many agents are Node programs, which start slowly
	o.Turn = cmp.Or(o.Turn, time.Hour)
	o.Grace = cmp.Or(o.Grace, 2*time.Second)
	o.Idle = cmp.Or(o.Idle, 30*time.Minute)
	a := &Agents{o: o, children: make(map[string]*session)}
	a.ctx, a.stop = context.WithCancelCause(context.Background())
	return a
}

// errBridgeEnded is the cause when the agents end with the bridge.
var errBridgeEnded = errors.New("the bridge has ended")

// Spawn starts an agent with a task. It returns when the agent has the task or the spawn has failed.
func (a *Agents) Spawn(ctx context.Context, r Request, who Requester) Result {
	return a.once.do(ctx, r.Once, func() Result { return a.spawn(ctx, r, who) })
}

func (a *Agents) spawn(ctx context.Context, r Request, who Requester) Result {
	if err := a.register(); err != nil {
		return *no(Failed, "%v", err)
	}
	defer a.work.Done()
	child, refused := a.o.Settings().Check(r, who, a.o.HasPlace)
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
	if refused := a.folderForbids(child.Agent, folder); refused != nil {
		return *refused
	}
	child.Cwd = folder
	return Spawn(ctx, &steps{Agents: a}, child, r.Thread)
}

// register makes Close wait for the caller's work, or returns an error after Close.
func (a *Agents) register() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := context.Cause(a.ctx); err != nil {
		return err
	}
	a.work.Add(1)
	return nil
}

// folderForbids returns the result that refuses an agent in a folder, or nil if it may start there.
func (a *Agents) folderForbids(agent, folder string) *Result {
	if a.o.FolderSettings == nil {
		return nil
	}
	s, err := a.o.FolderSettings(folder)
	if err != nil {
		return no(Failed, "the configuration of the folder %s can't be used: %v", folder, err)
	}
	return s.forbids(agent)
}

func (a *Agents) folder(cwd string) (string, error) {
	if cwd == "" {
		cwd = a.o.Dir
	}
	if !filepath.IsAbs(cwd) {
		return "", fmt.Errorf("cwd: %q is not an absolute path; send one such as %q", cwd, a.o.Dir)
	}
	return filepath.Clean(cwd), nil
}

// Info describes a child in bridge/acp/list.
type Info struct {
	Child   string    `json:"childSessionKey"`
	Agent   string    `json:"agentId"`
	Label   string    `json:"label,omitempty"`
	Mode    Mode      `json:"mode"`
	State   State     `json:"state"`
	Run     string    `json:"runId,omitempty"` // of the last turn
	Cwd     string    `json:"cwd"`
	Began   time.Time `json:"startedAt"`
	Spawner string    `json:"spawnedBy"`
	Session string    `json:"sessionId,omitempty"` // the agent's id of the session
	Problem string    `json:"error,omitempty"`
}

// List returns the children, the oldest first.
func (a *Agents) List() []Info {
	a.mu.Lock()
	all := slices.Collect(maps.Values(a.children))
	a.mu.Unlock()
	infos := make([]Info, len(all))
	for i, s := range all {
		infos[i] = s.info()
	}
	slices.SortFunc(infos, func(x, y Info) int { return cmp.Or(x.Began.Compare(y.Began), cmp.Compare(x.Child, y.Child)) })
	return infos
}

// errUnknown is returned for a key without a child.
var errUnknown = errors.New("there is no such child; bridge/acp/list has those that there are")

func (a *Agents) child(key string) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.children[key]; s != nil {
		return s, nil
	}
	return nil, errUnknown
}

// Cancel ends a child's turn. It also ends a child of mode Run, and returns when that has ended.
func (a *Agents) Cancel(ctx context.Context, key string) error {
	s, err := a.child(key)
	if err != nil {
		return err
	}
	return s.cancel(ctx)
}

// End ends a child and returns when it has ended.
func (a *Agents) End(ctx context.Context, key string) error {
	s, err := a.child(key)
	if err != nil {
		return err
	}
	return s.end(ctx)
}

// Send queues another turn of a child of mode Session and returns the run's id.
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

// Close ends all children and waits until they have ended or ctx ends.
func (a *Agents) Close(ctx context.Context) {
	a.mu.Lock() // register adds no work after this
	a.stop(errBridgeEnded)
	a.mu.Unlock()
	ended := make(chan struct{})
	go func() { // ends with the children, unless Notify blocks
		a.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// steps implements Steps for one spawn.
type steps struct {
	*Agents
	s *session // set by Create
}

// Create implements Steps.
func (a *steps) Create(_ context.Context, c Child) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.children) >= MaxAgents {
		return fmt.Errorf("%d agents are running, which is the maximum; wait for one of them, or cancel it", MaxAgents)
	}
	a.s = newSession(a.Agents, c)
	a.children[c.Key] = a.s
	return nil
}

// Initialize implements Steps.
func (a *steps) Initialize(ctx context.Context, _ Child) error { return a.s.open(ctx) }

// Bind implements Steps. It notifies the host of the session, before the task.
func (a *steps) Bind(_ context.Context, c Child) error {
	a.s.notify("", Update{Kind: Bound, Label: c.Label, Parent: c.SpawnedBy, Session: a.s.info().Session})
	return nil
}

// Relay implements Steps. A failure to create the log is not an error.
func (a *steps) Relay(c Child, run string) (_ Relay, path string) {
	o := StreamOptions{Run: run, Parent: c.SpawnedBy, Child: c.Key, Agent: c.Agent}
	o.Notify = func(n Notice) {
		a.o.Notify(Update{Child: c.Key, Run: run, Agent: c.Agent, Kind: Noticed, Text: n.Text, Parent: c.SpawnedBy, Context: n.Context})
	}
	if a.o.Journal != nil {
		var err error
		if o.Log, path, err = a.o.Journal(strings.ReplaceAll(c.Key, ":", "-") + ".acp-stream.jsonl"); err != nil {
			a.o.Log.Warn("the log of an agent's run could not be created", "child", c.Key, "error", err)
			o.Log, path = nil, ""
		}
	}
	stream := NewStream(o)
	a.s.setStream(stream)
	return stream, path
}

// Dispatch implements Steps.
func (a *steps) Dispatch(_ context.Context, c Child, key string) (string, error) {
	return key, a.s.enqueue(turn{run: key, text: c.Task})
}

// Clean implements Steps.
func (a *steps) Clean(c Child, created bool) {
	if !created {
		return
	}
	if err := a.s.end(context.Background()); err != nil && !errors.Is(err, errStarting) { // no agent was started
		a.o.Log.Warn("an agent could not be ended", "child", c.Key, "error", err)
	}
	a.s.setStream(nil)
	a.forget(a.s)
}

func (a *Agents) forget(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.children, s.child.Key)
}
