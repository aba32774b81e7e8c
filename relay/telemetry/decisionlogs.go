package telemetry

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"

	"codex-bridge.example/bridge/decision"
)

// Bounds of the decisions that wait for the collector.
const (
	maxPendingLogs = 2048
	logBatch       = 256
	logInterval    = time.Second
)

// decisionLogs sends decisions as OTLP logs, in batches. A decision that does not fit, or whose batch
// the collector does not take, is lost and counted.
type decisionLogs struct {
	collector *Collector
	resource  []attribute.KeyValue
	version   string

	mu             sync.Mutex
	pending        []decision.Record
	exported, lost int64

	full    chan struct{} // a batch is pending
	closing chan struct{}
	done    chan struct{}
}

func newDecisionLogs(o Options, resource []attribute.KeyValue) *decisionLogs {
	l := &decisionLogs{
		collector: o.Collector, resource: resource, version: o.Version,
		full: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
	}
	go l.run()
	return l
}

// add queues a decision. It does not wait.
func (l *decisionLogs) add(d decision.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == maxPendingLogs {
		l.lost++
		return
	}
	l.pending = append(l.pending, d)
	if len(l.pending) >= logBatch {
		select {
		case l.full <- struct{}{}:
		default:
		}
	}
}

func (l *decisionLogs) run() {
	defer close(l.done)
	tick := time.NewTicker(logInterval)
	defer tick.Stop()
	for {
		select {
		case <-l.closing:
			return
		case <-tick.C:
		case <-l.full:
		}
		for l.send(context.Background()) {
		}
	}
}

// send sends a batch. It returns false if none is pending.
func (l *decisionLogs) send(ctx context.Context) bool {
	l.mu.Lock()
	batch := slices.Clone(l.pending[:min(len(l.pending), logBatch)])
	l.pending = slices.Delete(l.pending, 0, len(batch))
	l.mu.Unlock()
	if len(batch) == 0 {
		return false
	}
	records := make([]LogRecord, len(batch))
	for i, d := range batch {
		records[i] = DecisionRecord(decision.Entry{Record: d}, LogSource{Version: l.version})
	}
	err := l.collector.SendLogs(ctx, l.resource, l.version, records)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.lost += int64(len(batch))
		otel.Handle(fmt.Errorf("%d decisions are lost, %d in all: %w", len(batch), l.lost, err))
		return true
	}
	l.exported += int64(len(batch))
	return true
}

// counts returns how many decisions the collector has taken, and how many are lost.
func (l *decisionLogs) counts() (exported, lost int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.exported, l.lost
}

// close sends the rest until ctx ends.
func (l *decisionLogs) close(ctx context.Context) error {
	close(l.closing)
	select {
	case <-l.done:
	case <-ctx.Done():
	}
	for ctx.Err() == nil && l.send(ctx) {
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost += int64(len(l.pending))
	l.pending = nil
	if l.lost > 0 {
		return fmt.Errorf("the collector has not got %d decisions as logs; they are in the decision log", l.lost)
	}
	return nil
}

// DecisionRecord returns a decision as a record whose attributes are the fields of its OCSF event, with
// dots between names.
func DecisionRecord(entry decision.Entry, from LogSource) LogRecord {
	e := OCSF(entry, from)
	r := LogRecord{Time: entry.Time, Warning: e.IsAlert, Event: "codex_bridge.decision", Body: cmp.Or(entry.Reason, entry.Verdict)}
	raw, err := json.Marshal(e)
	var members map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &members)
	}
	if err != nil {
		panic(err) // an event always is a JSON object
	}
	r.Attributes = flatten(nil, "", members)
	return r
}

// flatten appends the members of an object, sorted by name.
func flatten(to []attribute.KeyValue, prefix string, members map[string]any) []attribute.KeyValue {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		key := prefix + name
		switch v := members[name].(type) {
		case map[string]any:
			to = flatten(to, key+".", v)
		case string:
			to = append(to, attribute.String(key, v))
		case bool:
			to = append(to, attribute.Bool(key, v))
		case float64:
			to = append(to, attribute.Int64(key, int64(v)))
		case []any:
			var texts []string
			for _, one := range v {
				texts = append(texts, fmt.Sprint(one))
			}
			to = append(to, attribute.String(key, strings.Join(texts, " ")))
		}
	}
	return to
}
