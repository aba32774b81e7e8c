package desk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"

	"codex-bridge.example/bridge/config"
)

// Request is what a second person approves: one call of a command. Its JSON form is signed.
type Request struct {
	ID      string    `json:"id"` // random, of this request only
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
	Groups  []string  `json:"groups"` // a member of each must approve, or as many as Counts has
	// Counts has the groups of which more than one member must approve.
	Counts  map[string]int `json:"counts,omitempty"`
	Rule    string         `json:"rule"`   // the reason and the place of the rule
	Runner  []string       `json:"runner"` // fingerprints of the keys of the person who runs the bridge
	Client  string         `json:"client"`
	Thread  string         `json:"thread"`
	Turn    string         `json:"turn"`
	Item    string         `json:"item"` // the id of the call
	Command string         `json:"command"`
	Input   string         `json:"inputSha256"` // of the tool's whole input, as Codex sent it
	Cwd     string         `json:"cwd"`
	Shell   string         `json:"shell"`   // "": unknown
	Sandbox string         `json:"sandbox"` // what the sandbox of the turn allows
	Outside bool           `json:"mayLeaveSandbox"`
	Facts   string         `json:"-"` // of the decision to ask, for the decision log only
}

// Decision is an approver's answer.
type Decision string

// The decisions.
const (
	Approve Decision = "approve"
	Decline Decision = "decline"
)

// Namespace is the namespace of the signatures: ssh-keygen -Y sign -n codex-bridge-approval.
const Namespace = "codex-bridge-approval"

// Statement returns the text that an approver signs: the decision and the whole request.
func (r Request) Statement(d Decision) (string, error) {
	body, err := r.encode()
	if err != nil {
		return "", err
	}
	return "codex-bridge approval, version 1\ndecision: " + string(d) + "\n" + body, nil
}

// Need sets who must approve the request.
func (r *Request) Need(list []config.Quorum) {
	for _, q := range list {
		r.Groups = append(r.Groups, q.Group)
		if q.Count > 1 {
			if r.Counts == nil {
				r.Counts = make(map[string]int)
			}
			r.Counts[q.Group] = q.Count
		}
	}
}

// Quorums returns who must approve the request.
func (r *Request) Quorums() (list []config.Quorum) {
	for _, name := range r.Groups {
		list = append(list, config.Quorum{Group: name, Count: max(r.Counts[name], 1)})
	}
	return list
}

// encode returns the request as JSON, which has the same text for equal requests only.
func (r Request) encode() (string, error) {
	for _, text := range append([]string{r.Rule, r.Client, r.Thread, r.Turn, r.Item, r.Command, r.Cwd, r.Shell, r.Sandbox}, r.Groups...) {
		if !utf8.ValidString(text) {
			return "", errors.New("the call has a text that is not valid UTF-8")
		}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(r); err != nil {
		return "", err
	}
	return out.String(), nil
}

// Decode returns the request of a text of the store.
func Decode(text string) (r Request, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err = d.Decode(&r); err != nil {
		return r, fmt.Errorf("the request can't be read: %w; update codex-bridge", err)
	}
	if again, err := r.encode(); err != nil || again != text {
		return r, errors.New("the request is not in the form that the bridge writes, so do not sign it")
	}
	return r, nil
}

// verify returns the approver of the set who has signed the decision about the request.
func (s keySet) verify(r Request, d Decision, armored string) (Approver, error) {
	sig, err := sshsig.Unarmor([]byte(armored))
	if err != nil {
		return Approver{}, unreadableSignature(err)
	}
	one, known := s[string(sig.PublicKey.Marshal())]
	if !known {
		return Approver{}, fmt.Errorf("the key %s is not one of the group's, or is of the person who runs the bridge", ssh.FingerprintSHA256(sig.PublicKey))
	}
	return one, verifySignature(r, d, sig, one.key)
}

func unreadableSignature(err error) error { return fmt.Errorf("the signature can't be read: %w", err) }

// verifySignature returns an error unless the signature is of the decision about the request.
func verifySignature(r Request, d Decision, sig *sshsig.Signature, key ssh.PublicKey) error {
	statement, err := r.Statement(d)
	if err != nil {
		return err
	}
	if err := sshsig.Verify(strings.NewReader(statement), sig, key, sshsig.HashSHA512, Namespace); err != nil {
		return fmt.Errorf("the signature is not of this decision about this request: %w", err)
	}
	return nil
}

// CheckSignature returns why an armored signature of a decision counts with no configuration of the bridge; nil if
// it may count.
func CheckSignature(r Request, d Decision, armored string) error {
	sig, err := sshsig.Unarmor([]byte(armored))
	if err != nil {
		return unreadableSignature(err)
	}
	if isRunner(r, sig.PublicKey) {
		return errOwnKey
	}
	return verifySignature(r, d, sig, sig.PublicKey)
}

var errOwnKey = errors.New("this key is of the person who runs the bridge, who can't be the second person")

func isRunner(r Request, key ssh.PublicKey) bool {
	return slices.Contains(r.Runner, ssh.FingerprintSHA256(key))
}

// SignDecision returns the armored signature of a decision. The signer must not be of the person who runs the
// bridge.
func SignDecision(r Request, d Decision, signer ssh.Signer) (string, error) {
	if isRunner(r, signer.PublicKey()) {
		return "", errOwnKey
	}
	statement, err := r.Statement(d)
	if err != nil {
		return "", err
	}
	sig, err := sshsig.Sign(strings.NewReader(statement), signer, sshsig.HashSHA512, Namespace)
	if err != nil {
		return "", err
	}
	return string(sshsig.Armor(sig)), nil
}
