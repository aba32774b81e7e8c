package records

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/term"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/cmd/codex-bridge/internal/decisionlog"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/relay/desk"
)

// ApprovalsCmd is the command "codex-bridge approvals".
type ApprovalsCmd struct {
	List   listApprovalsCmd   `cmd:"" help:"List the commands that wait for a second person." example:"codex-bridge approvals list"`
	Show   showApprovalCmd    `cmd:"" help:"Print the text that an approver signs, for ssh-keygen -Y sign -n codex-bridge-approval." example:"codex-bridge approvals show ID --approve > request.txt"`
	Answer answerApprovalsCmd `cmd:"" help:"Sign the answer to a request." example:"codex-bridge approvals answer ID --approve --key ~/.ssh/id_ed25519"`
}

// approvalRow is a request in the list. The JSON names are stable.
type approvalRow struct {
	desk.Request
	Progress *desk.Progress `json:"progress,omitempty"` // nil: Problem says why it is not known
	Problem  string         `json:"problem,omitempty"`

	unreadable bool // it must not be answered
}

type listApprovalsCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c listApprovalsCmd) Run(out io.Writer) error {
	cfg, err := configured.Load()
	if err != nil {
		return err
	}
	all := []approvalRow{}
	err = decisionlog.ReadState(func(ctx context.Context, s *store.Store) error {
		list, err := s.DeskRequests(ctx)
		for _, one := range list {
			if err == nil && time.Now().Before(one.Expires) {
				var row approvalRow
				row, err = newApprovalRow(ctx, s, cfg.Approvals.Desk.Groups, one)
				all = append(all, row)
			}
		}
		return err
	})
	switch {
	case err != nil && !errors.Is(err, store.ErrNotExist):
		return err
	case c.JSON:
		return output.WriteJSON(out, all)
	case len(all) == 0:
		fmt.Fprintln(out, "no command waits for a second person")
		return nil
	}
	w := output.NewPrinter(out)
	for i, row := range all {
		if i > 0 {
			w.Raw("")
		}
		row.print(w)
	}
	return w.Failure()
}

// newApprovalRow reads a request with the answers that it has.
func newApprovalRow(ctx context.Context, s *store.Store, groups map[string]config.Group, waiting decision.DeskRequest) (approvalRow, error) {
	r, problem := desk.Decode(waiting.Text)
	row := approvalRow{Request: r}
	if row.ID != waiting.ID || problem != nil {
		row.ID, row.Expires, row.Problem, row.unreadable = waiting.ID, waiting.Expires, "it can't be read; do not answer it", true
		return row, nil //nolint:nilerr // the row has the problem
	}
	answers, err := s.DeskAnswers(ctx, waiting.ID)
	if err != nil {
		return row, err
	}
	progress, _, err := desk.ProgressOf(groups, r, answers)
	if err != nil {
		row.Problem = fmt.Sprintf("%v, so it can't tell whose %s count", err, output.Count(len(answers), "answer"))
		return row, nil
	}
	row.Progress = &progress
	return row, nil
}

// print prints the request as a block of lines, with its id whole. Texts of the model and the client are quoted.
func (r approvalRow) print(w *output.Printer) {
	field := func(name, value string) {
		if value != "" {
			w.Item(fmt.Sprintf("%-9s ", name), display.Line(value))
		}
	}
	field("request", r.ID)
	if r.unreadable {
		field("problem", r.Problem)
		return
	}
	field("command", display.Quote(r.Command))
	field("folder", display.Quote(r.Cwd))
	sandbox := r.Sandbox
	if r.Outside {
		sandbox = "the command may leave it"
	}
	field("sandbox", sandbox)
	field("needs", config.JoinQuorums(r.Quorums(), ", "))
	if p := r.Progress; p != nil {
		for _, one := range p.Approved {
			field("approved", one.String())
		}
		for _, one := range p.Declined {
			field("declined", one.String())
		}
		field("missing", config.JoinQuorums(p.Missing, ", "))
	}
	field("problem", r.Problem)
	field("until", r.Expires.Format(time.RFC3339))
	field("rule", r.Rule)
	if r.Client != "" {
		field("client", display.Quote(r.Client))
	}
}

// deskDecision is the decision of a command line.
type deskDecision struct {
	Approve bool `xor:"decision" required:"" help:"Let the command run."`
	Decline bool `xor:"decision" required:"" help:"Refuse it."`
}

func (d deskDecision) decision() desk.Decision {
	if d.Approve {
		return desk.Approve
	}
	return desk.Decline
}

type showApprovalCmd struct {
	ID string `arg:"" help:"The id from the list."`
	deskDecision
	JSON bool `help:"Print JSON." name:"json"`
}

// approvalText is the text that an approver signs. The JSON names are stable.
type approvalText struct {
	ID       string        `json:"id"`
	Decision desk.Decision `json:"decision"`
	Text     string        `json:"text"`
}

func (c showApprovalCmd) Run(out io.Writer) error {
	return decisionlog.ReadState(func(ctx context.Context, s *store.Store) error {
		r, err := findRequest(ctx, s, c.ID)
		if err != nil {
			return err
		}
		text, err := r.Statement(c.decision())
		switch {
		case err != nil:
			return err
		case c.JSON:
			return output.WriteJSON(out, approvalText{c.ID, c.decision(), text})
		}
		_, err = io.WriteString(out, text)
		return err
	})
}

// findRequest returns the request with an id that waits for an answer.
func findRequest(ctx context.Context, s *store.Store, id string) (r desk.Request, err error) {
	list, err := s.DeskRequests(ctx)
	if err != nil {
		return r, err
	}
	for _, one := range list {
		if one.ID != id || !time.Now().Before(one.Expires) {
			continue
		}
		if r, err = desk.Decode(one.Text); err == nil && r.ID != id {
			err = errors.New("the request has another id")
		}
		return r, err
	}
	return r, fmt.Errorf("%s: %w; \"codex-bridge approvals list\" shows those that do", display.Line(id), store.ErrNoDeskRequest)
}

type answerApprovalsCmd struct {
	ID string `arg:"" help:"The id from the list."`
	deskDecision
	Key       string `xor:"signature" required:"" help:"Your private SSH key (ed25519)." type:"existingfile"`
	Signature string `xor:"signature" required:"" help:"A file with the signature of the text of \"approvals show\"." type:"existingfile"`
	JSON      bool   `help:"Print JSON." name:"json"`
}

// approvalAnswer is a signed answer. The JSON names are stable.
type approvalAnswer struct {
	ID       string        `json:"id"`
	Decision desk.Decision `json:"decision"`
	Command  string        `json:"command"`
	Taken    bool          `json:"taken"` // the bridge has ended the request with the answer
}

func (c answerApprovalsCmd) Run(out io.Writer) error {
	cfg, err := configured.Load()
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := decisionlog.OpenState(ctx, cfg, false)
	if err != nil {
		return err
	}
	return errors.Join(c.answer(ctx, s, cfg.Approvals.Desk.Groups, out), s.Close())
}

func (c answerApprovalsCmd) answer(ctx context.Context, s *store.Store, groups map[string]config.Group, out io.Writer) error {
	r, err := findRequest(ctx, s, c.ID)
	if err != nil {
		return err
	}
	signature, err := c.sign(r)
	if err != nil {
		return err
	}
	if err := desk.CheckSignature(r, c.decision(), signature); err != nil {
		return fmt.Errorf("the answer would not count, so it is not sent: %w; sign the text of \"codex-bridge approvals show %s\" by ssh-keygen -Y sign -n %s", err, display.Line(c.ID), desk.Namespace)
	}
	answer := decision.DeskAnswer{Decision: string(c.decision()), Signature: signature}
	answers, err := s.DeskAnswers(ctx, c.ID) // before the bridge may delete them
	if err != nil {
		return err
	}
	if err := s.AddDeskAnswer(ctx, c.ID, answer); err != nil {
		return err
	}
	effect, final := answerEffect(groups, r, append(answers, answer))
	taken := false
	if final {
		if taken, err = awaitTaken(ctx, s, c.ID); err != nil {
			return err
		}
	}
	switch {
	case c.JSON:
		return output.WriteJSON(out, approvalAnswer{c.ID, c.decision(), r.Command, taken})
	case final && !taken:
		effect += fmt.Sprintf(", but the bridge that asked has not taken the answer within %s; if it has ended, nothing runs the command", takenWait)
	case final && c.Approve:
		effect += "; the bridge lets the command run"
	case final:
		effect += "; the bridge refuses the command"
	}
	return output.PrintLine(out, "%s: %s", effect, display.Quote(r.Command))
}

// takenWait is how long the bridge that asked has to take an answer. It looks twice a second.
const takenWait = 5 * time.Second

// awaitTaken waits until the bridge has ended a request, and reports whether it has. A bridge that was killed leaves
// the request until that expires.
func awaitTaken(ctx context.Context, s *store.Store, id string) (bool, error) {
	for end := time.Now().Add(takenWait); ; time.Sleep(100 * time.Millisecond) {
		list, err := s.DeskRequests(ctx)
		if err != nil {
			return false, err
		}
		waits := slices.ContainsFunc(list, func(r decision.DeskRequest) bool { return r.ID == id })
		if !waits || !time.Now().Before(end) {
			return !waits, nil
		}
	}
}

// answerEffect says what the last of the answers does, as far as the groups of the configuration here tell. final
// reports that it decides.
func answerEffect(groups map[string]config.Group, r desk.Request, answers []decision.DeskAnswer) (effect string, final bool) {
	progress, problem, err := desk.ProgressOf(groups, r, answers)
	declined := answers[len(answers)-1].Decision == string(desk.Decline)
	if err == nil {
		err = problem
	}
	switch {
	case err != nil && declined:
		return "signed; the bridge refuses the command if your key is in the group (" + display.Line(err.Error()) + ")", false
	case err != nil:
		return "signed; it counts if the bridge has your key in the group (" + display.Line(err.Error()) + ")", false
	case len(progress.Declined) > 0:
		return "signed; declined by " + display.Line(progress.Declined[0].String()), true
	}
	var by []string
	for _, one := range progress.Approved {
		by = append(by, one.String())
	}
	done := "signed; approved by " + display.Line(strings.Join(by, ", "))
	if len(progress.Missing) == 0 {
		return done, true
	}
	return done + "; still missing: " + display.Line(config.JoinQuorums(progress.Missing, ", ")), false
}

func (c answerApprovalsCmd) sign(r desk.Request) (string, error) {
	if c.Signature != "" {
		text, err := os.ReadFile(c.Signature)
		return string(text), err
	}
	text, err := os.ReadFile(c.Key)
	if err != nil {
		return "", err
	}
	signer, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		fd := int(os.Stdin.Fd())
		if !term.IsTerminal(fd) {
			return "", fmt.Errorf("%s has a passphrase; answer on a terminal, or sign the text of \"approvals show\" with ssh-keygen and give --signature", c.Key)
		}
		fmt.Fprintf(os.Stderr, "passphrase of %s: ", c.Key)
		phrase, readErr := term.ReadPassword(fd)
		fmt.Fprintln(os.Stderr)
		if readErr != nil {
			return "", readErr
		}
		signer, err = ssh.ParsePrivateKeyWithPassphrase(text, phrase)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", c.Key, err)
	}
	if kind := signer.PublicKey().Type(); kind != ssh.KeyAlgoED25519 {
		return "", fmt.Errorf("%s is a key of the kind %s; approvers use %s", c.Key, kind, ssh.KeyAlgoED25519)
	}
	return desk.SignDecision(r, c.decision(), signer)
}
