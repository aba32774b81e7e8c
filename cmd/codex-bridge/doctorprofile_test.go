package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestDoctorNamesDenials checks the row about the user's permissions profile.
func TestDoctorNamesDenials(t *testing.T) {
	for config, want := range map[string]struct {
		state  string
		detail string
	}{
		`{"default_permissions":"g","permissions":{"g":{"extends":":workspace","filesystem":{":workspace_roots":{"**/.env":"deny","docs":"read"},"~/keys":"deny"}}}}`: {fine, "g of codex's configuration: threads keep deny **/.env, deny ~/keys, read docs"},
		`{"default_permissions":"g","permissions":{"g":{"filesystem":{":root":"read","/srv/x":"deny"}}}}`:                                                             {warn, "a thread that names no sandbox is read-only"},
		`{"default_permissions":"g","permissions":{}}`: {broken, "threads are refused"},
		`{"default_permissions":":workspace"}`:         {},
		`{}`:                                           {},
		`[]`:                                           {},
	} {
		all := examineProfile(json.RawMessage(`{"config":`+config+`}`), nil)
		if want.detail == "" {
			if len(all) != 0 {
				t.Errorf("%s: %v", config, all)
			}
			continue
		}
		if len(all) != 1 || all[0].State != want.state || !strings.Contains(all[0].Detail, want.detail) {
			t.Errorf("%s: %v", config, all)
		}
	}
	if all := examineProfile(nil, errors.New("x")); len(all) != 0 {
		t.Error(all)
	}
	if all := examineProfile(json.RawMessage("x"), nil); len(all) != 0 {
		t.Error(all)
	}
}
