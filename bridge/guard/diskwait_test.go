package guard

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A folder that does not answer holds up Codex's messages about other threads for a limited time, and its
// own thread until it answers.
func TestMessagesOfOtherThreadsPassASlowFolder(t *testing.T) {
	ask := func(w *agentWorld, thread, folder string) string {
		return `{"method":"item/commandExecution/requestApproval","id":"` + thread + `","params":{"threadId":"` + thread + `","turnId":"u","itemId":"i","command":"cat x","cwd":"` + filepath.Join(w.root, folder) + `"}}`
	}
	for name, message := range map[string]func(w *agentWorld) string{
		"settings": func(w *agentWorld) string {
			settings := strings.NewReplacer("APPROVAL", "on-request", "CWD", filepath.Join(w.root, "slow", "sub"), "SANDBOX", readOnlySandbox).Replace(openedSettings)
			line := `{"method":"thread/settings/updated","params":{"threadId":"slow","threadSettings":` + settings + `}}`
			return "codex> " + line + "\neditor< " + line + "\n"
		},
		"question": func(w *agentWorld) string {
			return "codex> " + ask(w, "slow", "slow/sub") + "\n" + `codex< {"id":"slow","error":{"code":-32013,"message":"<text>","data":"$refusal"}}` + "\n" +
				`editor< {"method":"warning","params":{"threadId":"slow","message":"<text>"}}` + "\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, slow := newSlowWorld(t)
			w.start()
			w.c.StartTurn("slow", "u")
			w.c.StartTurn("other", "u")
			w.g.diskTimeout = 0
			w.c.Play("slow", message(w))
			<-slow.waits
			w.g.diskTimeout = time.Hour
			question := ask(w, "other", "other")
			w.c.Play("question", "codex> "+question+"\neditor< "+strings.Replace(question, `"params":{`, `"params":{"reason":"<text>",`, 1)+"\n")
			if got := w.g.threads.peek("slow") != nil; got != (name == "question") {
				t.Errorf("the thread of the folder takes turns: %v", got)
			}
			close(slow.release)
			if w.g.threads.get(t.Context(), "slow", nil) == nil {
				t.Error("the thread takes no turns after its folder has answered")
			}
		})
	}
}

// A thread whose folder does not answer in time is refused, and a late answer does not change that.
func TestThreadInASlowFolderDoesNotOpen(t *testing.T) {
	w, slow := newSlowWorld(t)
	w.g.diskTimeout = 0
	if err := w.g.registerOpened(w.open("third", filepath.Join(w.root, "slow"))); err == nil || !strings.Contains(err.Message, noAnswerReason) {
		t.Errorf("it opens: %v", err)
	}
	close(slow.release)
	w.g.diskTimeout = time.Hour
	if err := w.g.registerOpened(w.open("fourth", filepath.Join(w.root, "slow"))); err != nil {
		t.Error(err)
	}
	if w.g.threads.peek("third") != nil {
		t.Error("it takes turns after a late answer")
	}
}
