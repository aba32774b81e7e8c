// Package methods is the table of every name in Codex's protocol: what a
// message does, and what becomes of it when policy enforces. It is data, and
// knows of no policy; a name without a row is one that nobody has judged.
//
// The rows are kept complete by tests against the schema that codex itself
// prints (testdata/schema, `make schema`). Nothing here changes after the start:
// every function may be called from everywhere at once.
package methods

// Measured is the codex whose schema the rows cover.
const Measured = "0.169.0"

// Side tells the four kinds of messages apart: a name may stand on more than one.
type Side uint8

// The sides, by who speaks and whether an answer is due.
const (
	ClientRequest Side = iota
	ClientNotification
	ServerRequest
	ServerNotification

	sides // how many there are
)

// Class is what a message does to the world; for a message from codex, what it
// speaks of.
type Class string

// The classes.
const (
	Read          Class = "read"          // asks; changes nothing
	Thread        Class = "thread"        // opens a thread, or sets what its turns may do
	Turn          Class = "turn"          // starts, steers or ends a turn
	ModelWork     Class = "model work"    // has the model work without turn/start
	Execute       Class = "execute"       // runs a program
	FileWrite     Class = "file write"    // changes files of the client's choice
	FileRead      Class = "file read"     // reads files, or names of files, of the client's choice
	Configuration Class = "configuration" // changes what codex does from now on, in every thread
	Extension     Class = "extension"     // brings code, skills, servers or executors in
	Account       Class = "account"       // credentials, and what the account pays
	Remote        Class = "remote"        // lets others in, or data out
	State         Class = "state"         // changes codex's own records: names, archives, memories
)

// Verdict is what becomes of a message when policy enforces and says nothing of
// its own about the method.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "pass"    // as it came
	Rewrite Verdict = "rewrite" // its fields are held to the policy
	Gate    Verdict = "gate"    // only on a thread that was verified; its fields are held to the policy
	Deny    Verdict = "deny"    // refused
	Ask     Verdict = "ask"     // a person is asked; in no row, only in policy.methods
)

// Row is one method of one side.
type Row struct {
	Side    Side
	Method  string
	Class   Class
	Verdict Verdict
	// Fields are the members of params (of the answer, for a server request) that
	// decide; empty where the method alone does.
	Fields []string
	// Why is one line for people: the reason for the verdict.
	Why string
}
