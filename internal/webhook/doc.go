// Package webhook tells an organization's own HTTPS endpoints of events: what a hook is and which events it wants, which
// addresses may be called at all, how a delivery is signed (Standard Webhooks 1.0.0), one attempt to make it, and when to
// try again.
//
// Storage, queues and the envelope's JSON stay out: a body arrives here as the bytes that are sent.
package webhook
