package methods

import "fmt"

var sideNames = [sides]string{"client request", "client notification", "server request", "server notification"}

// Sides are all sides, in order.
func Sides() []Side {
	return []Side{ClientRequest, ClientNotification, ServerRequest, ServerNotification}
}

// String is the side as `codex-bridge methods` prints it.
func (s Side) String() string {
	if s < sides {
		return sideNames[s]
	}
	return fmt.Sprintf("side %d", uint8(s))
}

// Client says whether the client speaks.
func (s Side) IsFromClient() bool { return s == ClientRequest || s == ClientNotification }

// Overridable says whether policy.methods has a say: what codex tells its client has
// happened already.
func (s Side) IsOverridable() bool { return s != ServerNotification }

// MarshalText writes the side as String does.
func (s Side) MarshalText() ([]byte, error) {
	if s >= sides {
		return nil, fmt.Errorf("there is no side %d", uint8(s))
	}
	return []byte(sideNames[s]), nil
}

// UnmarshalText reads what MarshalText writes.
func (s *Side) UnmarshalText(text []byte) error {
	for side, name := range sideNames {
		if name == string(text) {
			*s = Side(side)
			return nil
		}
	}
	return fmt.Errorf("there is no side %q", text)
}
