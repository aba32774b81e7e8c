package params

import (
	"encoding/json"
	"fmt"
	"strings"

	"codex-bridge.example/bridge/setting"
)

// Options holds the values that the bridge adds to a client's request for a thread.
type Options struct {
	Config       Config // Requested is set from the request
	ServiceName  string // unless the request has one
	Instructions string // developer instructions, before those of the request
}

// ThreadStart returns the parameters of thread/start for a client's request.
func ThreadStart(request json.RawMessage, o Options) (json.RawMessage, error) {
	p, err := o.prepare(request)
	if err != nil {
		return nil, fmt.Errorf("thread/start: %w", err)
	}
	if err := o.addServiceName(p); err != nil {
		return nil, err
	}
	config, err := o.Config.start()
	if err != nil {
		return nil, fmt.Errorf("thread/start: config: %w", err)
	}
	return p.with("config", config).write()
}

// resumable lists the members of thread/start that thread/resume has too. ids and histories are not
// among them: they would select another thread.
var resumable = []string{
	"approvalPolicy", "approvalsReviewer", "baseInstructions", "config", "cwd", "developerInstructions", "model", "modelProvider",
	"permissions", "personality", "runtimeWorkspaceRoots", "sandbox", "serviceTier",
}

// ThreadResume returns the parameters of thread/resume for a client's thread/start.
func ThreadResume(request json.RawMessage, thread string, o Options) (json.RawMessage, error) {
	p, err := o.prepare(request)
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

// prepare returns the members that thread/start and thread/resume have in common, and sets
// o.Config.Requested.
func (o *Options) prepare(request json.RawMessage) (object, error) {
	p, err := readObject(request)
	if err != nil {
		return nil, err
	}
	delete(p, "bridge")
	o.Config.Requested = p["config"]
	provider, err := p.text("modelProvider")
	if err != nil {
		return nil, err
	}
	if err := p.set("modelProvider", setting.RequestProvider(provider)); err != nil {
		return nil, err
	}
	if err := o.addInstructions(p); err != nil {
		return nil, err
	}
	return p, p.normalizeSettings()
}

func (o *Options) addServiceName(p object) error {
	if name, _ := p.text("serviceName"); name != "" || o.ServiceName == "" {
		return nil
	}
	return p.set("serviceName", o.ServiceName)
}

// addInstructions puts the developer instructions before those of the request.
func (o *Options) addInstructions(p object) error {
	own, err := p.text("developerInstructions")
	if err != nil || strings.TrimSpace(o.Instructions) == "" {
		return err
	}
	return p.set("developerInstructions", joinInstructions(o.Instructions, own))
}

// normalizeSettings replaces other spellings of settings by those of Codex.
func (o object) normalizeSettings() error {
	if tier, err := o.text("serviceTier"); err != nil || tier != "" {
		if err != nil {
			return err
		}
		if err := o.set("serviceTier", setting.ServiceTier(tier)); err != nil {
			return err
		}
	}
	if word, err := o.text("approvalPolicy"); err == nil && word != "" { // an error means the granular form, an object
		return o.set("approvalPolicy", setting.Approval(word))
	}
	return nil
}

// with sets a member of o, or deletes it if v is nil, and returns o.
func (o object) with(name string, v json.RawMessage) object {
	if v == nil {
		delete(o, name)
		return o
	}
	o[name] = v
	return o
}

// joinInstructions joins developer instructions, without blank ones.
func joinInstructions(parts ...string) string {
	var all []string
	for _, part := range parts {
		if strings.TrimSpace(part) != "" {
			all = append(all, part)
		}
	}
	return strings.Join(all, "\n\n")
}

// AddToRequest adds the configured values to a client's request that opens a thread. Other members
// stay unchanged.
func AddToRequest(request json.RawMessage, o Options) (json.RawMessage, error) {
	p, err := readObject(request)
	if err != nil {
		return nil, err
	}
	if err := o.addServiceName(p); err != nil {
		return nil, err
	}
	if o.Instructions != "" {
		if err := o.addInstructions(p); err != nil {
			return nil, err
		}
	}
	if o.Config.HasChanges() {
		o.Config.Requested = p["config"]
		config, err := o.Config.start()
		if err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
		p.with("config", config)
	}
	return p.write()
}

// ThreadFork returns the parameters of thread/start for a client's thread/resume when a new thread
// replaces the old one. old holds the old thread's values for omitted members.
func ThreadFork(request json.RawMessage, old map[string]json.RawMessage, tools json.RawMessage) (json.RawMessage, error) {
	p, err := readObject(request)
	if err != nil {
		return nil, err
	}
	r := make(object)
	for _, name := range resumable {
		if v, ok := p[name]; ok && string(v) != "null" {
			r[name] = v
		}
	}
	for name, v := range old {
		if _, ok := r[name]; !ok {
			r[name] = v
		}
	}
	return r.with("dynamicTools", tools).write()
}
