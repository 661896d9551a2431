package httpapi

import (
	"baton/internal/task"
	"baton/internal/webhook"
)

type webhookWire struct {
	ID             string           `json:"id"`
	URL            string           `json:"url"`
	Events         []task.EventType `json:"events"`
	IdentityID     *string          `json:"identity_id"` // null: every identity of the organization
	Enabled        bool             `json:"enabled"`
	DisabledReason *string          `json:"disabled_reason"` // gone or failing, null when the owner disabled it
	FailingSince   *string          `json:"failing_since"`
	CreatedAt      string           `json:"created_at"`
	UpdatedAt      string           `json:"updated_at"`
	Secret         string           `json:"secret,omitempty"` // told once, when it is made
	// PreviousSecretUntil is until when the secret before signs too.
	PreviousSecretUntil *string `json:"previous_secret_until"`
}

func webhookOf(h webhook.Hook) *webhookWire {
	return &webhookWire{
		ID: h.ID.String(), URL: h.URL, Events: h.Events, IdentityID: stringOrNull(some(h.Identity)), Enabled: h.Enabled,
		DisabledReason: stringOrNull(string(h.Disabled)), FailingSince: timestampOrNull(h.FailingSince),
		CreatedAt: timestamp(h.CreatedAt), UpdatedAt: timestamp(h.UpdatedAt),
		PreviousSecretUntil: timestampOrNull(h.Keys.PreviousUntil),
	}
}

func webhookWithSecret(h webhook.Hook) *webhookWire {
	wire := webhookOf(h)
	if !h.Keys.Current.IsZero() {
		wire.Secret = h.Keys.Current.Reveal()
	}
	return wire
}

type deliveryWire struct {
	ID            string         `json:"id"` // the webhook-id that the receiver sees
	WebhookID     string         `json:"webhook_id"`
	EventID       string         `json:"event_id"`
	EventType     task.EventType `json:"event_type"`
	Sequence      int64          `json:"sequence"`
	Status        string         `json:"status"` // pending, delivered or parked
	Tries         int            `json:"tries"`
	NextAttemptAt *string        `json:"next_attempt_at"` // null unless pending
	Attempts      []attemptWire  `json:"attempts"`        // the newest 10, oldest first
	CreatedAt     string         `json:"created_at"`
	UpdatedAt     string         `json:"updated_at"`
}

type attemptWire struct {
	At         string  `json:"at"`
	Result     string  `json:"result"`      // delivered, failed or gone
	Problem    *string `json:"problem"`     // null when delivered
	StatusCode *int    `json:"status_code"` // null without an answer
	DurationMS int64   `json:"duration_ms"`
	Response   string  `json:"response"` // how the answer's body begins
}

func deliveryOf(d webhook.Delivery) *deliveryWire {
	wire := &deliveryWire{
		ID: d.ID.String(), WebhookID: d.Hook.String(), EventID: d.Event.String(), EventType: d.Type, Sequence: d.Sequence,
		Status: string(d.Status), Tries: d.Tries, NextAttemptAt: timestampOrNull(d.Due), Attempts: make([]attemptWire, len(d.Attempts)),
		CreatedAt: timestamp(d.CreatedAt), UpdatedAt: timestamp(d.UpdatedAt),
	}
	for n, a := range d.Attempts {
		wire.Attempts[n] = attemptWire{
			At: timestamp(a.At), Result: string(a.Result), Problem: stringOrNull(string(a.Problem)),
			DurationMS: a.Duration.Milliseconds(), Response: a.Response,
		}
		if a.Status != 0 {
			wire.Attempts[n].StatusCode = &a.Status
		}
	}
	return wire
}
