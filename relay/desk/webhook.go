package desk

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
)

// webhookBody is what the webhook gets: the request, and the texts of which it may send back a signature.
type webhookBody struct {
	Request    Request             `json:"request"`
	Statements map[Decision]string `json:"statements"`
}

// maxWebhookAnswer bounds the webhook's response in bytes.
const maxWebhookAnswer = 64 << 10

// webhookClient follows no redirect, since another address must not get the request.
var webhookClient = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// post sends the request to the webhook, again after a failure, and puts the answers of its response into
// the store. There they are checked like those of other ways: the webhook itself decides nothing. The
// response may take as long as the request waits, so that nothing needs to reach this machine.
func (d *Desk) post(ctx context.Context, cfg config.Desk, s Store, r Request) {
	secret := d.options.Secret(cfg.Secret)
	if secret == "" {
		d.options.Log.Error("approvals.desk.webhook gets no request: the variable of webhook_secret_env is not set", "variable", cfg.Secret)
		return
	}
	body := webhookBody{r, make(map[Decision]string)}
	for _, decision := range []Decision{Approve, Decline} {
		body.Statements[decision], _ = r.Statement(decision) // Ask has encoded the request
	}
	raw, err := json.Marshal(body)
	if err != nil {
		d.options.Log.Error("the request can't be encoded for the webhook", "id", r.ID, "error", err)
		return
	}
	pace := backoff.NewExponentialBackOff()
	pace.MaxInterval = time.Minute
	answers, err := backoff.Retry(ctx, func() ([]decision.DeskAnswer, error) { return d.postOnce(ctx, cfg.Webhook, secret, r.ID, raw) },
		backoff.WithBackOff(pace), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, _ time.Duration) {
			d.options.Log.Warn("the webhook has not taken a request", "id", r.ID, "error", err)
		}))
	if err != nil {
		return // the request has ended
	}
	for _, a := range answers {
		if err := s.AddDeskAnswer(ctx, r.ID, a); err != nil && ctx.Err() == nil {
			d.options.Log.Warn("an answer of the webhook is lost", "id", r.ID, "error", err)
		}
	}
}

// postOnce sends the request once. Its headers are those of Standard Webhooks.
func (d *Desk) postOnce(ctx context.Context, url, secret, id string, body []byte) ([]decision.DeskAnswer, error) {
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address is not valid") // the error may have its password
	}
	at := strconv.FormatInt(d.options.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, at, body) // a hash takes everything
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Webhook-Id": id, "Webhook-Timestamp": at, "Webhook-Signature": "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)),
	} {
		post.Header.Set(name, value)
	}
	response, err := webhookClient.Do(post)
	if err != nil {
		return nil, errors.New("it can't be reached")
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode/100 != 2 {
		return nil, fmt.Errorf("its status is %d", response.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxWebhookAnswer+1))
	if err != nil {
		return nil, errors.New("its response is not complete")
	}
	var reply struct {
		Answers []struct{ Decision, Signature string } `json:"answers"`
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil // it has the request, and the answer comes on another way
	}
	if len(raw) > maxWebhookAnswer || json.Unmarshal(raw, &reply) != nil {
		d.options.Log.Warn("the webhook's response is not {\"answers\": […]}, and counts for nothing", "id", id)
		return nil, nil
	}
	var answers []decision.DeskAnswer
	for _, a := range reply.Answers {
		answers = append(answers, decision.DeskAnswer(a))
	}
	return answers, nil
}
