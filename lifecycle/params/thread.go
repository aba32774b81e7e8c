package params

import (
	"encoding/json"
	"fmt"
	"strings"

	"codex-bridge/bridge/setting"
)

// Options are what a thread is given beside what a client asks for.
type Options struct {
	Config       Config // Asked is filled in from the request
	ServiceName  string // where the client names none
	Instructions string // the developer's, before the client's
}

// ThreadStart returns the parameters of thread/start for a client's request.
func ThreadStart(asked json.RawMessage, o Options) (json.RawMessage, error) {
	p, err := o.prepare(asked)
	if err != nil {
		return nil, fmt.Errorf("thread/start: %w", err)
	}
	if name, _ := p.text("serviceName"); name == "" && o.ServiceName != "" {
		if err := p.set("serviceName", o.ServiceName); err != nil {
			return nil, err
		}
	}
	config, err := o.Config.start()
	if err != nil {
		return nil, fmt.Errorf("thread/start: config: %w", err)
	}
	return p.with("config", config).write()
}

// resumable are the members of thread/start that thread/resume has, too. With the others
// go the ids and histories that would make it another thread's.
var resumable = []string{
	"approvalPolicy", "approvalsReviewer", "baseInstructions", "config", "cwd", "developerInstructions", "model", "modelProvider",
	"permissions", "personality", "runtimeWorkspaceRoots", "sandbox", "serviceTier",
}

// ThreadResume returns the parameters of thread/resume for a client's request of thread/start.
func ThreadResume(asked json.RawMessage, thread string, o Options) (json.RawMessage, error) {
	p, err := o.prepare(asked)
	if err != nil {
		return nil, fmt.Errorf("thread/resume: %w", err)
	}
	r := make(object)
	for _, name := range resumable {
		if v, ok := p[name]; ok {
			r[name] = v
		}
	}
	if err := r.set("threadId", thread); err != nil {
		return nil, err
	}
	config, err := o.Config.resume()
	if err != nil {
		return nil, fmt.Errorf("thread/resume: config: %w", err)
	}
	return r.with("config", config).write()
}

// prepare is what both have in common.
func (o *Options) prepare(asked json.RawMessage) (object, error) {
	p, err := readObject(asked)
	if err != nil {
		return nil, err
	}
	delete(p, "bridge")
	o.Config.Asked = p["config"]
	provider, err := p.text("modelProvider")
	if err != nil {
		return nil, err
	}
	if err := p.set("modelProvider", setting.RequestProvider(provider)); err != nil {
		return nil, err
	}
	instructions, err := p.text("developerInstructions")
	if err != nil {
		return nil, err
	}
	if both := joinInstructions(o.Instructions, instructions); both != "" {
		if err := p.set("developerInstructions", both); err != nil {
			return nil, err
		}
	}
	return p, p.settings()
}

// settings brings the settings that have other spellings into the one that Codex takes.
func (o object) settings() error {
	if tier, err := o.text("serviceTier"); err != nil || tier != "" {
		if err != nil {
			return err
		}
		if err := o.set("serviceTier", setting.ServiceTier(tier)); err != nil {
			return err
		}
	}
	if word, err := o.text("approvalPolicy"); err == nil && word != "" { // no word: the granular form
		return o.set("approvalPolicy", setting.Approval(word))
	}
	return nil
}

// with is o with a member, or without it where there is nothing to set.
func (o object) with(name string, v json.RawMessage) object {
	if v == nil {
		delete(o, name)
		return o
	}
	o[name] = v
	return o
}

// joinInstructions joins developer instructions from several sources.
func joinInstructions(parts ...string) string {
	var all []string
	for _, part := range parts {
		if strings.TrimSpace(part) != "" {
			all = append(all, part)
		}
	}
	return strings.Join(all, "\n\n")
}

// AddToRequest adds the configured values to a client's request that opens a thread. The
// client's own members stay as they are.
func AddToRequest(asked json.RawMessage, o Options) (json.RawMessage, error) {
	p, err := readObject(asked)
	if err != nil {
		return nil, err
	}
	if name, _ := p.text("serviceName"); name == "" && o.ServiceName != "" {
		if err := p.set("serviceName", o.ServiceName); err != nil {
			return nil, err
		}
	}
	if o.Instructions != "" {
		own, err := p.text("developerInstructions")
		if err != nil {
			return nil, err
		}
		if err := p.set("developerInstructions", joinInstructions(o.Instructions, own)); err != nil {
			return nil, err
		}
	}
	if o.Config.HasChanges() {
		o.Config.Asked = p["config"]
		config, err := o.Config.start()
		if err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
		p.with("config", config)
	}
	return p.write()
}

// ThreadFork returns the parameters of thread/start for a client's request of thread/resume,
// when a new thread replaces the old one. was holds the old thread's values for omitted members.
func ThreadFork(asked json.RawMessage, was map[string]json.RawMessage, tools json.RawMessage) (json.RawMessage, error) {
	p, err := readObject(asked)
	if err != nil {
		return nil, err
	}
	r := make(object)
	for _, name := range resumable {
		if v, ok := p[name]; ok && string(v) != "null" {
			r[name] = v
		}
	}
	for name, v := range was {
		if _, ok := r[name]; !ok {
			r[name] = v
		}
	}
	return r.with("dynamicTools", tools).write()
}
