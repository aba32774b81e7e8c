package doctor

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// doctor names the hooks that may replace the input of a call beside the bridge's, and what to do.
func TestDoctorNamesOtherHooks(t *testing.T) {
	const hook = `{"eventName":"preToolUse","command":"./lint","sourcePath":"/h/hooks.json","enabled":true,"trustStatus":"trusted"}`
	for result, test := range map[string]struct {
		err    error
		state  string
		detail string
	}{
		`{"data":[{"hooks":[` + hook + `]}]}`: {nil, Warn, `"/h/hooks.json"`},
		`{"data":[{"hooks":[]}]}`:             {nil, Fine, "no hook"},
		`x`:                                   {nil, Warn, "can't be listed"},
		``:                                    {errors.New("no answer"), Warn, "no answer"},
	} {
		all := examineOtherHooks(json.RawMessage(result), test.err)
		if len(all) != 1 || all[0].State != test.state || !strings.Contains(all[0].Detail, test.detail) {
			t.Errorf("%s: %+v", result, all)
		}
		if named := strings.Contains(result, "lint"); named != strings.Contains(all[0].Hint, "[[hooks.handler]]") {
			t.Errorf("%s: %+v", result, all)
		}
	}
}
