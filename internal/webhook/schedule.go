package webhook

import "time"

// pauses are those before each try, counted from the failure before it (contract section 4).
var pauses = [...]time.Duration{
	0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 24 * time.Hour,
}

const (
	// MaxTries is how often a delivery is tried before it is parked.
	MaxTries = len(pauses)
	// longestWait bounds what a receiver may ask for with Retry-After.
	longestWait = 24 * time.Hour
	// patience is how long a hook may do nothing but fail (contract section 4).
	patience = 5 * 24 * time.Hour
	// A hook that was quiet for days must not be disabled by the first failure after them, but by a delivery that had
	// half an hour's worth of tries.
	triesToDisable = 4
	// LongestHop is the longest delay of a queue's message (SQS).
	LongestHop = 15 * time.Minute
)

// Next is when a delivery that has failed `tries` times, the last time at failed, is due again; ok is false when it is to
// be parked. jitter, from 0 to 1, spreads retries over up to a tenth more than the pause; a pause never becomes shorter. A
// receiver's Retry-After makes it longer, to 24 h at most.
func Next(tries int, failed time.Time, retryAfter time.Duration, jitter float64) (due time.Time, ok bool) {
	if tries >= MaxTries {
		return time.Time{}, false
	}
	pause := max(pauses[max(tries, 0)], min(retryAfter, longestWait))
	spread := time.Duration(float64(pause) * 0.1 * min(max(jitter, 0), 1))
	return failed.Add(pause + spread), true
}

// Delay is how a delivery that is due at a time waits. Up to 15 minutes it waits in the queue, as a delayed message
// (queued is true, by is its delay, in whole seconds and never too short). Longer pauses are not made of hops of 15
// minutes: a dead receiver's delivery would take some 170 of them, each a message and an invocation, and the dead ones are
// the many. It waits in the table instead, in the index of due deliveries, from which a sweep each minute takes those due
// within LongestHop and gives them to the queue with what is left of their delay; by is zero then.
func Delay(due, now time.Time) (by time.Duration, queued bool) {
	left := due.Sub(now)
	if left > LongestHop {
		return 0, false
	}
	if left <= 0 {
		return 0, true
	}
	return (left + time.Second - 1).Truncate(time.Second), true
}
