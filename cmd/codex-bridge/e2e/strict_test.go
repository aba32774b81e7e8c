//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"codex-bridge/cmd/codex-bridge/internal/editor"
	"codex-bridge/rpc"
)

// lines around what is strict; $ID is the request's id. A method is used that
// answers at once and passes over members it does not know.
var requests = map[string]string{
	"plain":             `{"id":$ID,"method":"thread/loaded/list","params":{}}`,
	"white space":       " \t{ \"id\" : $ID ,\r\"method\":\"thread/loaded/list\" , \"params\" : { } } \r",
	"escaped key":       `{"\u0069d":$ID,"m\u0065thod":"thread/loaded/list","params":{}}`,
	"escaped method":    `{"id":$ID,"method":"thread\/loaded\u002flist","params":{}}`,
	"string id":         `{"id":"s$ID","method":"thread/loaded/list","params":{}}`,
	"negative id":       `{"id":-$ID,"method":"thread/loaded/list","params":{}}`,
	"jsonrpc":           `{"jsonrpc":"2.0","id":$ID,"method":"thread/loaded/list","params":{}}`,
	"other members":     `{"id":$ID,"method":"thread/loaded/list","params":{"x":{"y":[null,true]}},"z":1}`,
	"numbers":           `{"id":$ID,"method":"thread/loaded/list","params":{"x":[-0,1e400,1.5E-7,0.0,-1]}}`,
	"surrogate pair":    `{"id":$ID,"method":"thread/loaded/list","params":{"x":"\ud83d\ude00"}}`,
	"NUL as an escape":  `{"id":$ID,"method":"thread/loaded/list","params":{"x":"\u0000"}}`,
	"unicode":           "{\"id\":$ID,\"method\":\"thread/loaded/list\",\"params\":{\"x\":\"\u2028\u007f\U0001F600\"}}",
	"as deep as it may": `{"id":$ID,"method":"thread/loaded/list","params":{"x":` + nest(rpc.MaxDepth-2) + `}}`,
	"many members":      `{"id":$ID,"method":"thread/loaded/list","params":{` + members(500) + `}}`,

	"too deep":           `{"id":$ID,"method":"thread/loaded/list","params":{"x":` + nest(rpc.MaxDepth-1) + `}}`,
	"very deep":          `{"id":$ID,"method":"thread/loaded/list","params":{"x":` + nest(100000) + `}}`,
	"duplicate":          `{"id":$ID,"method":"thread/loaded/list","params":{"x":1,"x":2}}`,
	"escaped duplicate":  `{"id":$ID,"method":"thread/loaded/list","params":{"x":1,"\u0078":2}}`,
	"duplicate method":   `{"id":$ID,"method":"thread/loaded/list","method":"thread/loaded/list","params":{}}`,
	"half a pair":        `{"id":$ID,"method":"thread/loaded/list","params":{"x":"\ud800"}}`,
	"control character":  "{\"id\":$ID,\"method\":\"thread/loaded/list\",\"params\":{\"x\":\"\x01\"}}",
	"not UTF-8":          "{\"id\":$ID,\"method\":\"thread/loaded/list\",\"params\":{\"x\":\"\xff\"}}",
	"NUL":                "{\"id\":$ID,\"method\":\"thread/loaded/list\",\"params\":{}}\x00",
	"byte order mark":    "\ufeff{\"id\":$ID,\"method\":\"thread/loaded/list\",\"params\":{}}",
	"two objects":        `{"id":$ID,"method":"thread/loaded/list","params":{}}{}`,
	"batch":              `[{"id":$ID,"method":"thread/loaded/list","params":{}}]`,
	"leading zero":       `{"id":$ID,"method":"thread/loaded/list","params":{"x":01}}`,
	"null id":            `{"id":null,"method":"thread/loaded/list","params":{}}`,
	"fraction for an id": `{"id":$ID.5,"method":"thread/loaded/list","params":{}}`,
	"id beyond 64 bits":  `{"id":9223372036854775808,"method":"thread/loaded/list","params":{}}`,
	"other case":         `{"id":$ID,"Method":"thread/loaded/list","params":{}}`,
	"positional":         `{"id":$ID,"method":"thread/loaded/list","params":[null,null]}`,
	"hidden params":      `{"id":$ID,"method":"thread/loaded/list","params":{"$serde_json::private::RawValue":"{}"}}`,
	"hidden number":      `{"id":$ID,"method":"thread/loaded/list","params":{"limit":{"$serde_json::private::Number":"1"}}}`,
	"unfinished":         `{"id":$ID,"method":"thread/loaded/list","params":{`,
	"no JSON":            `hello $ID`,
}

func nest(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func members(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"m%d":%d`, i, i)
	}
	return strings.Join(list, ",")
}

// What the strict parser accepts, codex takes and answers; what it refuses is
// answered by the bridge, and codex hears nothing of it.
func TestStrict(t *testing.T) {
	t.Parallel()
	direct := newWorld(t, options{}).open(codexPath, "app-server")
	direct.initialize(nil)
	o, dir := withTee(t, options{})
	bridged := newWorld(t, o).open(proxyArgv...)
	bridged.initialize(nil)

	n, refused := 1000, 0
	for name, form := range requests {
		n++
		line := strings.ReplaceAll(form, "$ID", fmt.Sprint(n))
		m, err := rpc.ParseMessage([]byte(line))
		if err == nil {
			id := string(m.ID.Raw())
			mark := direct.Mark()
			if err := direct.Send([]byte(line)); err != nil {
				t.Fatal(err)
			}
			answer, err := direct.Wait(direct.ctx, mark, func(m editor.Message) bool { return !m.Sent && m.IsAnswer() && string(m.ID) == id })
			if err != nil || answer.Error != nil {
				t.Errorf("%s: accepted by the parser, and codex says %s, %v", name, answer.Raw, err)
			}
			continue
		}
		refused++
		mark := bridged.Mark()
		if err := bridged.Send([]byte(line)); err != nil {
			t.Fatal(err)
		}
		answer, err := bridged.Wait(bridged.ctx, mark, func(m editor.Message) bool { return !m.Sent && m.IsAnswer() })
		if err != nil || answer.Error == nil {
			t.Errorf("%s: refused by the parser, and the client is told %s, %v", name, answer.Raw, err)
		}
	}
	bridged.quit()
	if heard := recordedLines(t, dir, "in"); len(heard) != 2 { // initialize and initialized
		t.Errorf("of %d refused lines codex has heard:\n%s", refused, heard)
	}
	if refused != 22 {
		t.Errorf("%d lines were refused, of the 22 that should be", refused)
	}
}
