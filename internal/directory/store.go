package directory

import (
	"context"
	"time"

	"baton/internal/task"
)

// Store keeps the directory. All methods are safe for concurrent use. Reads are as of the latest accepted write, and
// return ErrNotFound when there is nothing. Everything returns a task.ErrUnavailable (wrapped) when storage can't be
// reached or throttles, and a task.ErrConflict when transactions of others kept a write from committing.
type Store interface {
	// CreateOrganization stores a new organization with its first key and the jobs that follow: ErrExists.
	CreateOrganization(ctx context.Context, o Organization, first Key, jobs ...Job) error
	Organization(ctx context.Context, id task.ID) (Organization, error)
	// SaveOrganization stores an edit, with the jobs that follow from it, under the condition that was is still what is
	// stored: ErrStale.
	SaveOrganization(ctx context.Context, was, now Organization, jobs ...Job) error

	// EraseOrganization deletes all that the directory has of an organization; its agents' handles stay taken.
	EraseOrganization(ctx context.Context, id task.ID) error

	// CreateIdentity stores a new identity and takes its handle: ErrHandleTaken, ErrManyHandles, and ErrManyIdentities when
	// its organization has most that aren't deleted.
	CreateIdentity(ctx context.Context, i Identity, most int) error
	// Identity finds an agent by id, by handle, or by a handle that it had before. Deleted ones are found by id,
	// and by any handle they had.
	Identity(ctx context.Context, ref Ref) (Identity, error)
	// SaveIdentity stores an edit under the condition that was is still what is stored: ErrStale. A new handle is
	// taken with it: ErrHandleTaken, ErrManyHandles; the old one goes on leading to the identity.
	// The jobs that follow from it are stored with it.
	SaveIdentity(ctx context.Context, was, now Identity, jobs ...Job) error
	// Identities is a page of an organization's identities, deleted ones too, oldest first; more says
	// that the page, which is not empty then, is not the last.
	Identities(ctx context.Context, organization, after task.ID, limit int) (page []Identity, more bool, err error)

	// CreateKey stores a key: ErrExists, also when there is one under one of the hashes others; ErrManyKeys when its
	// organization has most that work, or had within the last minute.
	CreateKey(ctx context.Context, k Key, most int, others ...Hash) error
	// KeyByHash finds a key, a revoked or expired one too.
	KeyByHash(ctx context.Context, h Hash) (Key, error)
	// RevokeKey marks a key of an organization as revoked at the time, or leaves it as it is when it is so already.
	RevokeKey(ctx context.Context, organization, key task.ID, at time.Time) error
	// RevokeHash is RevokeKey for the key under a hash.
	RevokeHash(ctx context.Context, h Hash, at time.Time) error
	// Keys is a page of an organization's keys with their last use, oldest first. It may be short or empty; last is
	// what to give as after for the next one, zero when there is none.
	Keys(ctx context.Context, organization, after task.ID, limit int) (page []Key, last task.ID, err error)
	// TouchKey notes that a key was used at the time, unless a use in the hour before is noted.
	TouchKey(ctx context.Context, key task.ID, at time.Time) error

	// CreateConnection stores a new connection and takes the place of its pair: ErrExists when another has it,
	// ErrManyRequests when the requester's organization has MaxPending that are pending.
	CreateConnection(ctx context.Context, c Connection) error
	// LiveConnection is the pending or approved connection of two identities, in either direction.
	LiveConnection(ctx context.Context, a, b task.ID) (Connection, error)
	Connection(ctx context.Context, id task.ID) (Connection, error)
	// SaveConnection stores a move under the condition that was is still what is stored: ErrStale. The place of the pair
	// is free when the connection is no longer live.
	SaveConnection(ctx context.Context, was, now Connection) error
	// Connections is a page of an identity's connections, newest first; last as for Keys.
	Connections(ctx context.Context, identity, after task.ID, limit int) (page []Connection, last task.ID, err error)

	// Rules are a worker's access rules, in their order; none is no error.
	Rules(ctx context.Context, identity task.ID) ([]Rule, error)
	// SaveRules is SaveIdentity with the rules in one.
	SaveRules(ctx context.Context, was, now Identity, rules []Rule) error
	// Relation is what decides on a requester where Glance is unsure: whether an approved connection joins the two, and
	// the worker's rules. It is one round trip.
	Relation(ctx context.Context, requester, worker task.ID) (connected bool, rules []Rule, err error)

	// Jobs are all that are to be done. A job of the same kind and about the same as an earlier one takes its place.
	Jobs(ctx context.Context) ([]Job, error)
	// SaveJob and DropJob work under the condition that was is still what is stored: ErrStale.
	SaveJob(ctx context.Context, was, now Job) error
	DropJob(ctx context.Context, was Job) error

	// Listed is a page of the identities of which Identity.Listed holds and whose SearchText has every word,
	// with their organizations. A task.Invalid when q.After is no position.
	Listed(ctx context.Context, q DiscoverQuery) (found []Identity, next []byte, err error)
}

// Buses makes the organizations' EventBridge buses.
type Buses interface {
	// Create makes the organization's bus with the rights of its AWS account, or finds it made. It returns the bus,
	// pending where the account has no room for another or the service is not to be reached.
	Create(ctx context.Context, o Organization) Bus
}
