package hook

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge/relay/hook/ask"
)

// parseFlags reads what a Server's Command says: "--name value" and "--name=value". What is wrong does not keep it
// from finding the event; "" and it can't be told.
func parseFlags(args []string) (f ask.Flags, err error) {
	values := map[string]string{}
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		if !joined && len(args) > 0 {
			value, args, joined = args[0], args[1:], true
		}
		switch _, twice := values[name]; {
		case name != "--socket" && name != "--event" && name != "--timeout" && name != "--on-failure":
			err = errors.Join(err, fmt.Errorf("%q is no flag", name))
		case twice:
			err = errors.Join(err, fmt.Errorf("%s stands there twice", name))
			value = "" // neither
		case !joined:
			err = errors.Join(err, fmt.Errorf("%s has no value", name))
		}
		values[name] = value
	}
	if f.Event = values["--event"]; Event(f.Event).Name() == "" {
		err = errors.Join(err, fmt.Errorf("--event must be one of %v, not %q", Events, f.Event))
		f.Event = ""
	}
	if f.Socket = values["--socket"]; !filepath.IsAbs(f.Socket) {
		err = errors.Join(err, fmt.Errorf("--socket must be a path in full, not %q", f.Socket))
	}
	var wrong error
	if f.Timeout, wrong = time.ParseDuration(values["--timeout"]); wrong != nil || f.Timeout <= 0 {
		err = errors.Join(err, fmt.Errorf("--timeout must be a duration such as 10s, not %q", values["--timeout"]))
	}
	switch how, set := values["--on-failure"]; {
	case how == "allow":
		f.Allow = true
	case set && how != "deny":
		err = errors.Join(err, fmt.Errorf("--on-failure must be deny or allow, not %q", how))
	}
	return f, err
}
