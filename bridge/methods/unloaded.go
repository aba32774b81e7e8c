package methods

// Unloaded are the notifications after which codex has a thread no more, until it is opened
// anew. Measured with 0.169.0: thread/archive and thread/delete are followed by the second
// and the third, and not by thread/closed.
var UnloadNotifications = []string{"thread/closed", "thread/archived", "thread/deleted"}

// Unloading are the requests by which a client makes Codex unload a thread. Codex may send the answer before the
// notification.
var UnloadRequests = []string{"thread/archive", "thread/delete"}
