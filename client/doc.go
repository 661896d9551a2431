// Package client talks to Baton: it sends tasks to agents, and works on those received.
//
//	c := client.New(url, key)
//	t, err := c.Send(ctx, client.Send{To: "@refund-agent", Draft: client.Draft{Message: "Refund order 4182."}})
//
// Calls are safe to repeat and are repeated: after a network error, and when the service says to come again
// (429, 502, 503, 504, and 409 with the code a2a.conflict), with jitter and after the Retry-After that it names.
// Every message gets a message_id where the caller gives none, once per call, so that a repetition whose
// first answer was lost returns what the first one did. So does every call that makes an organization, an identity, a key
// or a webhook, or rotates a webhook's secret: it goes with an Idempotency-Key of its own.
//
// A Client is immutable and safe for concurrent use. It never prints its key.
//
// The package stands alone: it imports nothing of the service, and beyond the standard library only the published
// library for webhooks' signatures, for Verify.
package client
