package trace

import (
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/decision"
)

func (w *writer) writeDecision(at time.Time, d decision.Record) {
	raw, err := w.redactor.JSON(w.marshal(map[string]any{
		"method": d.Method, "mode": d.Mode, "verdict": d.Verdict, "rule": d.Rule, "reason": d.Reason, "origin": d.Origin, "fields": d.Fields,
	}))
	if err != nil {
		w.Log.Error("cannot trace a decision", "error", err)
		return
	}
	e := Event{Type: Decided, Time: at, ThreadID: d.Thread, TurnID: d.Turn, Data: raw}
	if m := w.received[bridge.Client]; d.Thread == "" && opensThread(d.Method) && m != nil && m.method == d.Method && w.deferEvent(m.id, e) {
		return
	}
	w.append(e)
}

func (w *writer) writePassed(at time.Time, d decision.Record) {
	raw, err := w.redactor.JSON(w.marshal(Passed{Method: d.Method, Client: d.Client, Mode: d.Mode, Facts: d.Facts, Sum: decision.Sum([]byte(d.Facts)), Logged: d.Rule != ""}))
	if err != nil {
		w.Log.Error("cannot trace a passed call", "error", err)
		return
	}
	w.append(Event{Type: CallPassed, Time: at, ThreadID: d.Thread, TurnID: d.Turn, Data: raw})
}

func (w *writer) writeTimeout(at time.Time, t Timeout) {
	w.append(Event{Type: ToolTimeout, Time: at, ThreadID: t.Thread, TurnID: t.Turn, Data: w.marshal(map[string]any{
		"callId": t.Call, "tool": t.Tool, "timeoutMs": t.After.Milliseconds(),
	})})
}
