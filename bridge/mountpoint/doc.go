// Package mountpoint keeps empty folders in place of protected paths that do not exist, while
// Codex's commands may run. On systems other than Linux it does nothing.
//
// Measured with Codex 0.169 and 0.171 on Linux: a read-only mount needs a mount point. For a missing
// path Codex creates one in the user's folder: an empty read-only file in place of the first missing
// name, such as .github for .github/workflows. Git lists it. Codex removes it after the command,
// unless its sandbox process is killed, as by an interrupt. Then the file stays. Each later command of
// the thread fails, since .github/workflows can't be below a file. Nothing tells the file from one of
// the user, so the bridge names it and does not remove it. A thread that opens later protects the file itself.
//
// An empty folder as mount point avoids all that: git does not list it, a mount below it works, and
// Codex's sandbox protects it like any existing path. If the bridge fails to create the folder,
// Codex still protects the path by its file.
package mountpoint
