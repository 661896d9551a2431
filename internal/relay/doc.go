// Package relay carries accepted changes to those who must know: from the stream of the table tasks into the log of each
// organization concerned, from there onto its bus, and to its webhooks.
//
// It tolerates repetition everywhere: the log takes each event once, and what follows the log is at least once. What a
// change means and who must know is task's to say; the log's items are store's; webhooks are delivered by others.
package relay
