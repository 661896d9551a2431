package directory

import (
	"time"

	"baton/internal/task"
)

// Job is work that goes on in the background after a change to the directory, until nothing is left to do; see Sweeper.
type Job struct {
	Kind  JobKind
	About task.ID // the identity, or the organization
	// CreatedAt is when the change was made that the job follows.
	CreatedAt time.Time
	Clean     int // passes in a row that found nothing to do
	Version   int // counts the writes; of no meaning outside
}

// JobKind is what a job does.
type JobKind string

const (
	EndTasks       JobKind = "end-tasks"       // of a deleted identity
	MakeBus        JobKind = "make-bus"        // of an organization whose bus is pending
	Purge          JobKind = "purge"           // of an organization with all its data
	TellSuspension JobKind = "tell-suspension" // to the profiles of an organization's identities
)

const (
	// settle is when a change to the directory has reached everyone: an instance trusts what it read for half of it
	// (Options.Remember), and a call that began with that lasts less than the other half.
	settle = time.Minute
	// cleanPasses is how many passes must find nothing, each begun after settle.
	cleanPasses = 2
)
