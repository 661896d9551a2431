package webhook

import (
	"math/rand/v2"
	"testing"
	"time"

	"baton/internal/task"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func failed() Outcome { return Outcome{Result: Failed, Problem: ProblemStatus, Status: 500} }

func TestADeliveryIsTriedAsTheContractSays(t *testing.T) {
	d, now := NewDelivery(task.NewID(), task.NewID(), task.EventCreated, 7, start), start
	var pauses []time.Duration
	for d.Status == Pending {
		pauses = append(pauses, d.Due.Sub(now))
		now = d.Due
		d = d.After(failed(), now, 0)
	}
	want := []time.Duration{0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 24 * time.Hour}
	if len(pauses) != len(want) {
		t.Fatalf("pauses %v", pauses)
	}
	for i := range want {
		if pauses[i] != want[i] {
			t.Errorf("pause %d is %s, want %s", i, pauses[i], want[i])
		}
	}
	if d.Status != Parked || d.Tries != 8 || len(d.Attempts) != 8 || !d.Due.IsZero() {
		t.Errorf("%+v", d)
	}
}

func TestNext(t *testing.T) {
	for _, row := range []struct {
		name   string
		tries  int
		retry  time.Duration
		jitter float64
		pause  time.Duration
		ok     bool
	}{
		{"a new one is due at once", 0, 0, 1, 0, true},
		{"the second try after 5 s", 1, 0, 0, 5 * time.Second, true},
		{"jitter adds up to a tenth", 1, 0, 1, 5500 * time.Millisecond, true},
		{"jitter beyond its range is bounded", 1, 0, 7, 5500 * time.Millisecond, true},
		{"the receiver may ask for longer", 1, time.Hour, 0, time.Hour, true},
		{"but not for shorter", 4, time.Second, 0, 2 * time.Hour, true},
		{"nor for more than a day", 1, 1000 * time.Hour, 0, 24 * time.Hour, true},
		{"the eighth try is the last", 7, 0, 0, 24 * time.Hour, true},
		{"then it is parked, whatever the receiver asks for", 8, time.Hour, 0, 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			due, ok := Next(row.tries, start, row.retry, row.jitter)
			if ok != row.ok || ok && due.Sub(start) != row.pause {
				t.Errorf("%s, %t", due.Sub(start), ok)
			}
		})
	}
}

func TestDelay(t *testing.T) {
	for _, row := range []struct {
		name   string
		left   time.Duration
		by     time.Duration
		queued bool
	}{
		{"overdue goes at once", -time.Hour, 0, true},
		{"due now goes at once", 0, 0, true},
		{"a queue counts in whole seconds, never too short", 4001 * time.Millisecond, 5 * time.Second, true},
		{"15 minutes are the queue's", 15 * time.Minute, 15 * time.Minute, true},
		{"more are the table's", 15*time.Minute + time.Nanosecond, 0, false},
		{"a day is the table's", 24 * time.Hour, 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			by, queued := Delay(start.Add(row.left), start)
			if by != row.by || queued != row.queued {
				t.Errorf("%s, %t", by, queued)
			}
		})
	}
}

func TestDelivery(t *testing.T) {
	hook, event := task.NewID(), task.NewID()
	d := NewDelivery(hook, event, task.EventSentUpdated, 3, start)
	t.Run("made again it is the same one", func(t *testing.T) {
		if NewDelivery(hook, event, task.EventSentUpdated, 3, start.Add(1)).ID != d.ID {
			t.Error("another id")
		}
	})
	t.Run("of the alias, another hook or event it is another", func(t *testing.T) {
		ids := map[task.ID]bool{d.ID: true, DeliveryID(hook, 3, task.EventUpdated): true,
			DeliveryID(task.NewID(), 3, d.Type): true, DeliveryID(hook, 4, d.Type): true}
		if len(ids) != 4 {
			t.Error(ids)
		}
	})
	t.Run("its id says where it is, to its own hook alone", func(t *testing.T) {
		if place, ok := Place(hook, d.ID); !ok || place != 3<<1 {
			t.Error(place, ok)
		}
		if place, ok := Place(hook, DeliveryID(hook, 3, task.EventUpdated)); !ok || place != 3<<1|1 {
			t.Error(place, ok)
		}
		for _, id := range []task.ID{DeliveryID(task.NewID(), 3, d.Type), task.NewID(), {}, hook} {
			if place, ok := Place(hook, id); ok {
				t.Error(id, place)
			}
		}
	})
	t.Run("a success ends it", func(t *testing.T) {
		after := d.After(failed(), start, 0).After(Outcome{Result: Delivered, Status: 204}, start.Add(time.Minute), 0)
		if after.Status != Arrived || after.Tries != 2 || !after.Due.IsZero() || len(after.Attempts) != 2 {
			t.Errorf("%+v", after)
		}
	})
	t.Run("a 410 parks it at once", func(t *testing.T) {
		if after := d.After(Outcome{Result: Gone, Status: 410}, start, 0); after.Status != Parked || !after.Due.IsZero() {
			t.Errorf("%+v", after)
		}
	})
	t.Run("asked for again it has all its tries and its old id", func(t *testing.T) {
		after := d.Park(start).Again(start.Add(time.Hour))
		if after.ID != d.ID || after.Status != Pending || after.Tries != 0 || !after.Due.Equal(start.Add(time.Hour)) {
			t.Errorf("%+v", after)
		}
	})
	t.Run("its log does not grow without end, nor change under its copies", func(t *testing.T) {
		long := d
		for i := range 50 {
			before := long
			if long.Status == Parked {
				long = long.Again(start)
			}
			long = long.After(failed(), start.Add(time.Duration(i)), rand.Float64())
			if n := len(before.Attempts); n > 0 && before.Attempts[n-1].At.Equal(long.Attempts[len(long.Attempts)-1].At) {
				t.Fatal("an older copy sees the new attempt")
			}
		}
		if len(long.Attempts) != 10 || !long.Attempts[9].At.Equal(start.Add(49)) {
			t.Errorf("%d attempts", len(long.Attempts))
		}
	})
}
