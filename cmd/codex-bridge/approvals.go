package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/term"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/approvals"
)

type approvalsCmd struct {
	List   listApprovalsCmd   `cmd:"" help:"List the commands that wait for a second person." example:"codex-bridge approvals list"`
	Show   showApprovalCmd    `cmd:"" help:"Print the text that an approver signs, for ssh-keygen -Y sign -n codex-bridge-approval." example:"codex-bridge approvals show ID --approve > request.txt"`
	Answer answerApprovalsCmd `cmd:"" help:"Sign the answer to a request." example:"codex-bridge approvals answer ID --approve --key ~/.ssh/id_ed25519"`
}

// approvalRow is a request in the list.
type approvalRow struct {
	approvals.DeskRequest
	Problem string `json:"problem,omitempty"` // why it must not be answered
}

type listApprovalsCmd struct {
	JSON bool `help:"Print JSON." name:"json"`
}

func (c listApprovalsCmd) Run(out io.Writer) error {
	all := []approvalRow{}
	err := readState(func(ctx context.Context, s *store.Store) error {
		list, err := s.DeskRequests(ctx)
		for _, one := range list {
			if !time.Now().Before(one.Expires) {
				continue
			}
			r, problem := approvals.DecodeDeskRequest(one.Text)
			row := approvalRow{DeskRequest: r}
			if row.ID != one.ID || problem != nil {
				row.ID, row.Problem = one.ID, "it can't be read; do not answer it"
			}
			all = append(all, row)
		}
		return err
	})
	switch {
	case err != nil && !errors.Is(err, store.ErrNotExist):
		return err
	case c.JSON:
		return writeJSON(out, all)
	case len(all) == 0:
		fmt.Fprintln(out, "no command waits for a second person")
		return nil
	}
	var rows table
	rows.row("ID", "UNTIL", "GROUPS", "COMMAND", "FOLDER", "SANDBOX", "RULE", "CLIENT")
	for _, r := range all {
		sandbox := r.Sandbox
		if r.Outside {
			sandbox = "may leave it"
		}
		command := r.Command
		if r.Problem != "" {
			command = r.Problem
		}
		rows.row(plain(r.ID), r.Expires.Format(time.RFC3339), plain(config.JoinQuorums(r.Quorums(), ", ")), plain(command), plain(r.Cwd), plain(sandbox), plain(r.Rule), plain(r.Client))
	}
	return rows.writeTo(out)
}

// deskDecision is the decision of a command line.
type deskDecision struct {
	Approve bool `xor:"decision" required:"" help:"Let the command run."`
	Decline bool `xor:"decision" required:"" help:"Refuse it."`
}

func (d deskDecision) decision() approvals.DeskDecision {
	if d.Approve {
		return approvals.DeskApprove
	}
	return approvals.DeskDecline
}

type showApprovalCmd struct {
	ID string `arg:"" help:"The id from the list."`
	deskDecision
	JSON bool `help:"Print JSON." name:"json"`
}

// approvalText is the text that an approver signs. The JSON names are stable.
type approvalText struct {
	ID       string                 `json:"id"`
	Decision approvals.DeskDecision `json:"decision"`
	Text     string                 `json:"text"`
}

func (c showApprovalCmd) Run(out io.Writer) error {
	return readState(func(ctx context.Context, s *store.Store) error {
		r, err := findRequest(ctx, s, c.ID)
		if err != nil {
			return err
		}
		text, err := r.Statement(c.decision())
		switch {
		case err != nil:
			return err
		case c.JSON:
			return writeJSON(out, approvalText{c.ID, c.decision(), text})
		}
		_, err = io.WriteString(out, text)
		return err
	})
}

// findRequest returns the request with an id that waits for an answer.
func findRequest(ctx context.Context, s *store.Store, id string) (r approvals.DeskRequest, err error) {
	list, err := s.DeskRequests(ctx)
	if err != nil {
		return r, err
	}
	for _, one := range list {
		if one.ID != id || !time.Now().Before(one.Expires) {
			continue
		}
		if r, err = approvals.DecodeDeskRequest(one.Text); err == nil && r.ID != id {
			err = errors.New("the request has another id")
		}
		return r, err
	}
	return r, fmt.Errorf("%s: %w; \"codex-bridge approvals list\" shows those that do", plain(id), store.ErrNoDeskRequest)
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
	ID       string                 `json:"id"`
	Decision approvals.DeskDecision `json:"decision"`
	Command  string                 `json:"command"`
}

func (c answerApprovalsCmd) Run(out io.Writer) error {
	cfg, err := loadConfig()
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := openState(ctx, cfg, false)
	if err != nil {
		return err
	}
	return errors.Join(c.answer(ctx, s, out), s.Close())
}

func (c answerApprovalsCmd) answer(ctx context.Context, s *store.Store, out io.Writer) error {
	r, err := findRequest(ctx, s, c.ID)
	if err != nil {
		return err
	}
	signature, err := c.sign(r)
	if err != nil {
		return err
	}
	if err := s.AddDeskAnswer(ctx, c.ID, store.DeskAnswer{Decision: string(c.decision()), Signature: signature}); err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(out, approvalAnswer{c.ID, c.decision(), r.Command})
	}
	done := "signed; the bridge runs the command if your key is in the group"
	if len(r.Counts) > 0 {
		done = "signed; the bridge runs the command when " + plain(config.JoinQuorums(r.Quorums(), " and ")) + " have approved it"
	}
	if c.Decline {
		done = "signed; the bridge refuses the command if your key is in the group"
	}
	return printLine(out, "%s: %s", done, plain(r.Command))
}

func (c answerApprovalsCmd) sign(r approvals.DeskRequest) (string, error) {
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
	return approvals.SignDecision(r, c.decision(), signer)
}
