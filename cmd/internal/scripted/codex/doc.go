// Command codex is a scripted stand-in for codex app-server. The soak test runs it for
// conversations of ten thousand turns, in which the real Codex would use most of the time and the
// memory.
//
// On its standard streams it speaks the part of the app-server that codex-bridge uses, in the forms
// of Codex 0.171.0: threads that are started, resumed and archived, turns that are started, steered
// and interrupted, their items, hooks that it really runs, approvals, tools of the host and of MCP
// servers, questions. The model is scripted.Vocabulary: the text of the user decides what happens.
//
// To a client that follows the protocol it sends what the real Codex sends, in the same order
// (TestScriptedCodex). It runs no command and no MCP server, stores of a thread only its id and its
// folder, and checks hardly anything, so that no test of a policy may use it.
package main
