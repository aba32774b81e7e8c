package rollout

import "codex-bridge/rpc"

// Moved returns the folder in which a thread was opened, and the one in which it works now, as Codex
// has written them down. The thread is found by its id alone; "" is a folder that is not known.
func Folders(codexHome, id string) (opened, last string) {
	path, err := findFile(codexHome, id)
	if err != nil {
		return "", ""
	}
	line, err := readFirstLine(codexHome, path)
	if err != nil {
		return "", ""
	}
	doc, err := rpc.ParseValue(line)
	if err != nil || !doc.Root().Get("type").Is("session_meta") || !doc.Root().Get("payload").Get("id").Is(id) {
		return "", ""
	}
	opened, _ = doc.Root().Get("payload").Get("cwd").Text()
	settings := AppliedSettings(codexHome, path)
	if settings == nil { // Codex before 0.169 writes none
		settings = TurnSettings(codexHome, path, "")
	}
	if settings != nil {
		last, _ = settings.Root().Get("cwd").Text()
	}
	return opened, last
}
