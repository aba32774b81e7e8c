// Package serverrequest decides about requests of Codex, such as approvals, and about the client's answers to them.
//
// Decide checks a request before the client gets it: a rule may deny or accept it, and its reason says whether the
// action would leave the sandbox. DecideAnswer checks the response: it may not exceed what Codex offers, holds once, and
// respects the policy. Terms says which remembered answers count.
package serverrequest
