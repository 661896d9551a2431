package webhook

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"baton/internal/task"
)

// Status is where a delivery stands.
type Status string

const (
	Pending Status = "pending" // Due says when it is tried next
	Arrived Status = "delivered"
	Parked  Status = "parked" // given up, until somebody asks for it to be delivered again
)

// Delivery is one event on its way to one hook. Its ID is the webhook-id that the receiver sees.
type Delivery struct {
	ID       task.ID
	Hook     task.ID
	Event    task.ID
	Type     task.EventType // as the hook wants to be told; see Hook.Types
	Sequence int64          // of the event in the organization's log, where the body is read again for a retry
	Status   Status
	Tries    int       // made since it was created or last asked for again
	Due      time.Time // zero unless Pending
	// Attempts are the newest tries, at most 10, oldest first.
	Attempts  []Attempt
	CreatedAt time.Time
	UpdatedAt time.Time
	Version   int // counts the writes, 0 for one that isn't stored yet
}

// Attempt is one line of the delivery log.
type Attempt struct {
	At time.Time
	Outcome
}

// maxAttempts keeps a delivery's item small: 8 tries and a little of what was before a redelivery.
const maxAttempts = 10

// DeliveryID is the id of an event's delivery to a hook (UUID version 8): its second half is the event's sequence, so that a
// delivery is found by its id. Made again it is the same, so that an event that is queued twice is found to be under way
// already.
func DeliveryID(hook task.ID, sequence int64, t task.EventType) task.ID {
	h := sha256.Sum256(append([]byte("baton delivery 2\x00"), hook[:]...))
	var id task.ID
	copy(id[:8], h[:])
	place := uint64(sequence) << 1
	if t == task.EventUpdated {
		place |= 1 // the alias: the only second delivery that one event can have
	}
	binary.BigEndian.PutUint64(id[8:], place)
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Place is where a hook's delivery stands among its others, by its id; ok is false when the id is of none of them.
func Place(hook, id task.ID) (place int64, ok bool) {
	place = int64(binary.BigEndian.Uint64(id[8:]) &^ (3 << 62))
	t := task.EventSentUpdated
	if place&1 == 1 {
		t = task.EventUpdated
	}
	return place, place > 1 && DeliveryID(hook, place>>1, t) == id
}

// NewDelivery returns the delivery of an event to a hook, due at once.
func NewDelivery(hook, event task.ID, t task.EventType, sequence int64, now time.Time) Delivery {
	return Delivery{
		ID: DeliveryID(hook, sequence, t), Hook: hook, Event: event, Type: t, Sequence: sequence,
		Status: Pending, Due: now, CreatedAt: now, UpdatedAt: now,
	}
}

// After is the delivery after an attempt that ended at a time with an outcome. jitter is Next's.
func (d Delivery) After(o Outcome, ended time.Time, jitter float64) Delivery {
	d.Tries++
	d.UpdatedAt, d.Due = ended, time.Time{}
	d.Attempts = append(d.Attempts[:len(d.Attempts):len(d.Attempts)], Attempt{ended, o})
	if over := len(d.Attempts) - maxAttempts; over > 0 {
		d.Attempts = d.Attempts[over:]
	}
	switch o.Result {
	case Delivered:
		d.Status = Arrived
	case Gone:
		d.Status = Parked
	default:
		d.Status = Parked
		if due, ok := Next(d.Tries, ended, o.RetryAfter, jitter); ok {
			d.Status, d.Due = Pending, due
		}
	}
	return d
}

// Again is the delivery asked for once more, with all its tries, due at once. It keeps its ID: to the receiver it is the
// same message.
func (d Delivery) Again(now time.Time) Delivery {
	d.Status, d.Tries, d.Due, d.UpdatedAt = Pending, 0, now, now
	return d
}

// Park gives the delivery up without a try: its hook is disabled or gone.
func (d Delivery) Park(now time.Time) Delivery {
	d.Status, d.Due, d.UpdatedAt = Parked, time.Time{}, now
	return d
}
