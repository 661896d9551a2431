// Package envelope is the one wire form of an event (contract section 4, "Envelope"): the detail on an organization's
// bus, the body of a webhook, an item of GET /v1/events.
//
// Who is told, by which way and in which order stays out; so does everything that is not an event.
package envelope
