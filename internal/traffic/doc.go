// Package traffic is many agents talking at once, as users' programs would by the public client, and the proof afterwards that what they
// were told is true: every write that was acknowledged, and the promises of the contract about them, are looked up in the
// tables, the logs, on the buses and at the webhooks.
//
// What goes wrong meanwhile, and on which stack all this runs, is for others to say: internal/faults makes things fail,
// internal/load counts how fast it went.
package traffic
