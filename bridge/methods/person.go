package methods

// IsForPerson reports whether a person answers a request of Codex: the policy checks the answer.
func (r Row) IsForPerson() bool { return r.Side == ServerRequest && r.Verdict == Rewrite }

// IsForPerson reports whether a person answers a request of Codex.
func IsForPerson(method string) bool {
	row, ok := Lookup(ServerRequest, method)
	return ok && row.IsForPerson()
}

// ForPerson returns the requests of Codex that a person answers, sorted.
func ForPerson() []string {
	var all []string
	for row := range Rows() {
		if row.IsForPerson() {
			all = append(all, row.Method)
		}
	}
	return all
}

// The requests of Codex that a person answers.
const (
	CommandApproval       = "item/commandExecution/requestApproval"
	FileApproval          = "item/fileChange/requestApproval"
	PermissionApproval    = "item/permissions/requestApproval"
	Elicitation           = "mcpServer/elicitation/request"
	UserInput             = "item/tool/requestUserInput"
	LegacyCommandApproval = "execCommandApproval"
	LegacyFileApproval    = "applyPatchApproval"
)

// ToolCall is the request of Codex to run a tool that a client has offered.
const ToolCall = "item/tool/call"

// IsLegacyApproval reports whether a request is one of the two older approvals, which have the thread in another
// member and no turn.
func IsLegacyApproval(method string) bool {
	return method == LegacyCommandApproval || method == LegacyFileApproval
}
