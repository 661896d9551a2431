package relay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"baton/internal/envelope"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
)

// Source is the source of every event on a bus.
const Source = "baton.a2a"

// Buses are the organizations' event buses. Safe for concurrent use.
type Buses struct {
	client busClient
	prefix string
}

type busClient interface {
	PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
	DescribeEventBus(context.Context, *eventbridge.DescribeEventBusInput, ...func(*eventbridge.Options)) (*eventbridge.DescribeEventBusOutput, error)
}

// NewBuses returns the buses whose names are the prefix, baton-<stage>-, and the organization's id.
func NewBuses(client busClient, prefix string) *Buses { return &Buses{client, prefix} }

func (b *Buses) name(organization task.ID) string { return b.prefix + organization.String() }

const (
	// A PutEvents call takes 10 entries, and 256 KB in the older of AWS's documents, 1 MB in the newer.
	maxEntries   = 10
	maxCallBytes = 256_000
	// sendTries is how often an entry is sent before its organization is parked; the pauses between grow from
	// firstPause, twofold, half of it random.
	sendTries  = 5
	firstPause = 100 * time.Millisecond
)

// Send puts events on their organization's bus, in their order, and returns the first sequence that the bus did not
// take after several tries, with why, which is for the log; 0 when it took all. Only entries that failed are sent again.
// With legacy each event of the type EventSentUpdated goes out a second time as EventUpdated.
//
// A bus that does not exist takes everything and drops it, as EventBridge does; Describe tells.
func (b *Buses) Send(ctx context.Context, organization task.ID, events []task.Event, legacy bool) (failed int64, why error) {
	pending := b.entries(organization, events, legacy)
	pause := firstPause
	for try := 1; ; try++ {
		if pending, why = b.put(ctx, pending); len(pending) == 0 {
			return 0, nil
		}
		if try == sendTries || sleep(ctx, pause/2+rand.N(pause/2)) != nil {
			return first(pending), why
		}
		pause *= 2
	}
}

// outgoing is an entry of a call with the event it tells of.
type outgoing struct {
	entry    types.PutEventsRequestEntry
	sequence int64
}

func (b *Buses) entries(organization task.ID, events []task.Event, legacy bool) (out []outgoing) {
	bus := b.name(organization)
	add := func(e task.Event) {
		out = append(out, outgoing{types.PutEventsRequestEntry{
			EventBusName: &bus, Source: aws.String(Source), DetailType: aws.String(string(e.Type)),
			Detail: aws.String(string(envelope.Marshal(e))), Time: &e.At,
		}, e.Sequence})
	}
	for _, e := range events {
		add(e)
		if legacy && e.Type == task.EventSentUpdated {
			e.Type = task.EventUpdated
			add(e)
		}
	}
	return out
}

// put sends each entry once and returns those that were not taken, in their order, and why the last of them was not.
func (b *Buses) put(ctx context.Context, pending []outgoing) (failed []outgoing, why error) {
	for len(pending) > 0 {
		n := callful(pending)
		call := make([]types.PutEventsRequestEntry, n)
		for i := range call {
			call[i] = pending[i].entry
		}
		out, err := b.client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: call})
		for i := range call {
			// Each entry has a result of its own: the call succeeds when all entries fail.
			if refused := refusal(out, i, err); refused != nil {
				failed, why = append(failed, pending[i]), refused
			}
		}
		pending = pending[n:]
	}
	return failed, why
}

// refusal is why an entry of a call was not taken, nil when it was.
func refusal(out *eventbridge.PutEventsOutput, entry int, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("relay: put events on bus: %w", err)
	case entry >= len(out.Entries):
		return errors.New("relay: put events on bus: an entry without a result")
	case out.Entries[entry].ErrorCode != nil:
		e := out.Entries[entry]
		return fmt.Errorf("relay: put events on bus: %s: %s", *e.ErrorCode, aws.ToString(e.ErrorMessage))
	}
	return nil
}

// callful is how many of the entries go into one call.
func callful(pending []outgoing) (n int) {
	bytes := 0
	for n < len(pending) && n < maxEntries {
		bytes += len(*pending[n].entry.Detail) + 200
		if n > 0 && bytes > maxCallBytes {
			break
		}
		n++
	}
	return n
}

func first(pending []outgoing) int64 {
	lowest := pending[0].sequence
	for _, p := range pending {
		lowest = min(lowest, p.sequence)
	}
	return lowest
}

// Describe looks whether an organization's bus is there, and when it was made.
func (b *Buses) Describe(ctx context.Context, organization task.ID) (made time.Time, there bool, err error) {
	name := b.name(organization)
	out, err := b.client.DescribeEventBus(ctx, &eventbridge.DescribeEventBusInput{Name: &name})
	var missing *types.ResourceNotFoundException
	switch {
	case errors.As(err, &missing):
		return time.Time{}, false, nil
	case err != nil:
		return time.Time{}, false, fmt.Errorf("relay: describe bus %s: %w", name, err)
	case out.CreationTime == nil:
		return time.Time{}, true, fmt.Errorf("relay: bus %s has no creation time", name)
	}
	return out.CreationTime.UTC().Truncate(time.Millisecond), true, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
