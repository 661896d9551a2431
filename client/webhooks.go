package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// EventWebhookDisabled tells an organization that a webhook of its was disabled; it is about no task.
const EventWebhookDisabled = "webhook.disabled"

// Webhook is an organization's wish to be told of events at a URL. Its requests are signed; see Verify.
type Webhook struct {
	ID             string    `json:"id"`
	URL            string    `json:"url"`
	Events         []string  `json:"events"`      // EventCreated and so on
	IdentityID     string    `json:"identity_id"` // only what this agent must see; empty: every one of the organization
	Enabled        bool      `json:"enabled"`
	DisabledReason string    `json:"disabled_reason"` // gone (it answered 410) or failing (for 5 days); empty when its owner did it
	FailingSince   time.Time `json:"failing_since"`   // zero when the latest attempt succeeded
	CreatedAt      time.Time `json:"created_at"`
	UpdatedAt      time.Time `json:"updated_at"`
	// Secret is what its requests are signed with: only in the answers that made it.
	Secret string `json:"secret"`
	// PreviousSecretUntil is until when the secret before it signs too; zero when there is none.
	PreviousSecretUntil time.Time `json:"previous_secret_until"`
}

// WebhookFields is what to set of a webhook; nil fields stay as they are, or as new ones have them.
type WebhookFields struct {
	URL        *string  `json:"url,omitempty"`
	Events     []string `json:"events,omitempty"`
	IdentityID *string  `json:"identity_id,omitempty"` // handle or id; empty for every agent of the organization
	Enabled    *bool    `json:"enabled,omitempty"`
}

// CreateWebhook subscribes to events; URL and Events are needed. The answer has the secret. Not repeated after a lost
// answer: nobody would know the first secret.
func (c *Client) CreateWebhook(ctx context.Context, f WebhookFields) (Webhook, error) {
	return answer[Webhook](ctx, c, call{method: http.MethodPost, path: "/v1/webhooks", body: f, making: true})
}

// Webhook reads one, without its secret.
func (c *Client) Webhook(ctx context.Context, id string) (Webhook, error) {
	return answer[Webhook](ctx, c, call{method: http.MethodGet, path: path("/v1/webhooks/{}", id)})
}

// Webhooks walks the organization's webhooks. It ends after the first error.
func (c *Client) Webhooks(ctx context.Context) iter.Seq2[Webhook, error] {
	return pages[Webhook](ctx, c, "/v1/webhooks", url.Values{})
}

// UpdateWebhook changes one. Enabled anew it gets the full patience again.
func (c *Client) UpdateWebhook(ctx context.Context, id string, f WebhookFields) (Webhook, error) {
	return answer[Webhook](ctx, c, call{method: http.MethodPatch, path: path("/v1/webhooks/{}", id), body: f})
}

// RotateWebhookSecret makes a new secret, which the answer has. For 24 h the one before signs too: put both into Verify
// until then.
func (c *Client) RotateWebhookSecret(ctx context.Context, id string) (Webhook, error) {
	return answer[Webhook](ctx, c, call{method: http.MethodPost, path: path("/v1/webhooks/{}/rotate-secret", id), making: true})
}

// DeleteWebhook ends a subscription; what is under way to it is given up.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	_, _, err := c.do(ctx, call{method: http.MethodDelete, path: path("/v1/webhooks/{}", id)}, nil)
	return err
}

// Delivery is one event on its way to one webhook.
type Delivery struct {
	ID            string            `json:"id"` // the webhook-id that the receiver sees
	WebhookID     string            `json:"webhook_id"`
	EventID       string            `json:"event_id"`
	EventType     string            `json:"event_type"`
	Sequence      int64             `json:"sequence"` // of the event in the organization's log
	Status        DeliveryStatus    `json:"status"`
	Tries         int               `json:"tries"`
	NextAttemptAt time.Time         `json:"next_attempt_at"` // zero unless pending
	Attempts      []DeliveryAttempt `json:"attempts"`        // the newest 10, oldest first
	CreatedAt     time.Time         `json:"created_at"`
	UpdatedAt     time.Time         `json:"updated_at"`
}

// DeliveryStatus is where a delivery stands.
type DeliveryStatus string

const (
	DeliveryPending DeliveryStatus = "pending"
	Delivered       DeliveryStatus = "delivered"
	Parked          DeliveryStatus = "parked" // given up, until Redeliver
)

// DeliveryAttempt is one line of the delivery log.
type DeliveryAttempt struct {
	At         time.Time `json:"at"`
	Result     string    `json:"result"`      // delivered, failed or gone
	Problem    string    `json:"problem"`     // such as timeout or address_refused; empty when delivered
	StatusCode int       `json:"status_code"` // 0 without an answer
	DurationMS int64     `json:"duration_ms"`
	Response   string    `json:"response"` // how the answer's body begins
}

// Deliveries walks what was and is sent to a webhook, newest event first. It ends after the first error.
func (c *Client) Deliveries(ctx context.Context, webhookID string) iter.Seq2[Delivery, error] {
	return pages[Delivery](ctx, c, path("/v1/webhooks/{}/deliveries", webhookID), url.Values{})
}

// Redeliver has a delivery sent once more with all its tries, whatever became of it. To the receiver it is the same
// message: its webhook-id stays.
func (c *Client) Redeliver(ctx context.Context, webhookID, deliveryID string) (Delivery, error) {
	return answer[Delivery](ctx, c, call{
		method: http.MethodPost, path: path("/v1/webhooks/{}/deliveries/{}/redeliver", webhookID, deliveryID),
	})
}
