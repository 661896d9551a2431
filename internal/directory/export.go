package directory

import (
	"context"
	"encoding/json"
	"iter"

	"baton/internal/task"
)

// Exporter reads out all that is kept of an organization.
type Exporter struct {
	store Store
	tasks ExportTasks
	log   ExportLog
	hooks ExportHooks
}

// ExportTasks is what an exporter needs of the tasks' storage.
type ExportTasks interface {
	List(ctx context.Context, q task.Query) (task.Page, error)
	History(ctx context.Context, id task.ID, after, limit int) (page []task.Message, next int, err error)
	// Position is the Query.After that goes on behind a task as it was listed.
	Position(t task.Task) []byte
}

// ExportLog is what an exporter needs of the organizations' logs.
type ExportLog interface {
	// Oldest is the sequence of the oldest entry that is still kept, or the one that the next entry will have.
	Oldest(ctx context.Context, organization task.ID) (int64, error)
	Entries(ctx context.Context, organization task.ID, after int64, limit int) ([]task.Event, error)
	Texts(ctx context.Context, entries []task.Event) error
}

// ExportHooks is what an exporter needs of the webhooks' storage: an organization's hooks, each with its deliveries behind
// it, from where an earlier walk stopped, nil for the beginning.
type ExportHooks interface {
	Export(ctx context.Context, organization task.ID, after []byte) iter.Seq2[Exported, error]
}

// NewExporter returns an exporter.
func NewExporter(store Store, tasks ExportTasks, log ExportLog, hooks ExportHooks) *Exporter {
	return &Exporter{store, tasks, log, hooks}
}

// Exported is one record of an export: an Organization, an ExportedIdentity, a Key, a Connection, a task.Task, an
// ExportedMessage of the task before it, a task.Event, or what ExportHooks has.
type Exported struct {
	Record any
	Next   []byte // where to go on after it
}

// ExportedIdentity is an agent, a deleted one too, with its access rules.
type ExportedIdentity struct {
	Identity
	Rules []Rule
}

// ExportedMessage is a message with the task on which it stands.
type ExportedMessage struct {
	Task task.ID
	task.Message
}

// exportPlace is where an export stands: all that is before it was read out.
type exportPlace struct {
	Stage    exportStage
	Identity task.ID // of which all is read out, or whose turn it is
	Side     task.Direction
	After    []byte // the position in that list, or an id
	Task     task.ID
	Message  int // the change after which the page of the task's messages begins
	Told     int // and how many of that page were read out; a page is always the same
	Sequence int64
}

type exportStage int

const (
	exportOrganization exportStage = iota
	exportIdentities
	exportKeys
	exportConnections
	exportTasks
	exportEvents
	exportHooks
)

// From reads out an organization from where an earlier export stopped, nil for the beginning: the organization, its
// identities, keys, connections, the tasks of its agents with all their messages, its events, and its webhooks with their
// deliveries, each once. A task that changes meanwhile may come twice, or with older messages only, or, when it had not
// come yet, be missing: an export that must be exact is made of a suspended organization. A task.Invalid when after is no place of an export; errors of
// storage end it.
func (e *Exporter) From(ctx context.Context, organization task.ID, after []byte) iter.Seq2[Exported, error] {
	return func(yield func(Exported, error) bool) {
		var at exportPlace
		if after != nil && json.Unmarshal(after, &at) != nil {
			yield(Exported{}, task.Invalid{{Field: "cursor", Message: "is none of an export's"}})
			return
		}
		run := exportRun{Exporter: e, ctx: ctx, organization: organization, at: at, yield: yield}
		stages := []func() bool{run.theOrganization, run.identities, run.keys, run.connections, run.tasksOfAll, run.events, run.webhooks}
		for int(run.at.Stage) < len(stages) {
			stage := run.at.Stage
			if !stages[stage]() {
				return
			}
			run.at = exportPlace{Stage: stage + 1}
		}
	}
}

// exportRun is one walk. Its stages return false when the walk is to end.
type exportRun struct {
	*Exporter
	ctx          context.Context
	organization task.ID
	at           exportPlace
	yield        func(Exported, error) bool
}

// tell yields a record after which the walk stands where at says.
func (r *exportRun) tell(record any) bool {
	next, err := json.Marshal(r.at)
	if err != nil {
		return r.fail(err)
	}
	return r.yield(Exported{record, next}, nil)
}

func (r *exportRun) fail(err error) bool {
	r.yield(Exported{}, err)
	return false
}

func (r *exportRun) theOrganization() bool {
	o, err := r.store.Organization(r.ctx, r.organization)
	if err != nil {
		return r.fail(err)
	}
	r.at.Stage++
	return r.tell(o)
}

// exportPage is how many directory entries or tasks are read at once.
const exportPage = 100

// eachIdentity calls f for the organization's identities, from the given one on.
func (r *exportRun) eachIdentity(after task.ID, f func(Identity) bool) bool {
	for more := true; more; {
		var page []Identity
		var err error
		if page, more, err = r.store.Identities(r.ctx, r.organization, after, exportPage); err != nil {
			return r.fail(err)
		}
		for _, i := range page {
			after = i.ID
			if !f(i) {
				return false
			}
		}
	}
	return true
}

func (r *exportRun) identities() bool {
	return r.eachIdentity(r.at.Identity, func(i Identity) bool {
		rules, err := r.store.Rules(r.ctx, i.ID)
		if err != nil {
			return r.fail(err)
		}
		r.at.Identity = i.ID
		return r.tell(ExportedIdentity{i, rules})
	})
}

func (r *exportRun) keys() bool {
	for after := r.at.Identity; ; {
		page, last, err := r.store.Keys(r.ctx, r.organization, after, exportPage)
		if err != nil {
			return r.fail(err)
		}
		for _, k := range page {
			r.at.Identity = k.KeyID
			if !r.tell(k) {
				return false
			}
		}
		if after = last; last.IsZero() {
			return true
		}
	}
}

// connections come with the agent that asked, or with the one that was asked where the other is a stranger's.
func (r *exportRun) connections() bool {
	return r.eachIdentity(r.at.Identity, func(i Identity) bool {
		for after := (task.ID{}); ; {
			page, last, err := r.store.Connections(r.ctx, i.ID, after, exportPage)
			if err != nil {
				return r.fail(err)
			}
			for _, c := range page {
				if c.Requester.Identity != i.ID && c.Requester.Organization == r.organization {
					continue
				}
				if !r.tell(c) {
					return false
				}
			}
			if after = last; last.IsZero() {
				r.at.Identity = i.ID
				return true
			}
		}
	})
}

// tasksOfAll come with the agent that received them, or with the one that sent them where the other is a stranger's.
func (r *exportRun) tasksOfAll() bool {
	if r.at.Side != "" { // in the middle of one agent
		i := r.at.Identity
		if !r.tasksOf(i) {
			return false
		}
		r.at = exportPlace{Stage: exportTasks, Identity: i}
	}
	return r.eachIdentity(r.at.Identity, func(i Identity) bool {
		r.at = exportPlace{Stage: exportTasks, Identity: i.ID, Side: task.Inbound}
		if !r.tasksOf(i.ID) {
			return false
		}
		r.at = exportPlace{Stage: exportTasks, Identity: i.ID}
		return true
	})
}

func (r *exportRun) tasksOf(identity task.ID) bool {
	if !r.at.Task.IsZero() && !r.messages() {
		return false
	}
	for {
		page, err := r.tasks.List(r.ctx, task.Query{Identity: identity, Direction: r.at.Side, After: r.at.After, Limit: exportPage})
		if err != nil {
			return r.fail(err)
		}
		for _, t := range page.Items {
			if r.at.Side == task.Outbound && t.Target.Organization == r.organization {
				continue
			}
			r.at.After, r.at.Task = r.tasks.Position(t), t.ID
			if !r.tell(t) || !r.messages() {
				return false
			}
		}
		if r.at.After = page.Next; page.Next != nil {
			continue
		}
		if r.at.Side == task.Outbound {
			return true
		}
		r.at.Side = task.Outbound
	}
}

// messagePage is how many messages are read at once; each may have 1 MiB.
const messagePage = 10

// messages are those of the task at which the walk stands.
func (r *exportRun) messages() bool {
	id := r.at.Task
	for {
		page, next, err := r.tasks.History(r.ctx, id, r.at.Message, messagePage)
		if err != nil {
			return r.fail(err)
		}
		for r.at.Told < len(page) {
			m := page[r.at.Told]
			r.at.Told++
			if !r.tell(ExportedMessage{id, m}) {
				return false
			}
		}
		r.at.Message, r.at.Told = next, 0
		if next == 0 {
			r.at.Task = task.ID{}
			return true
		}
	}
}

func (r *exportRun) events() bool {
	if r.at.Sequence == 0 {
		oldest, err := r.log.Oldest(r.ctx, r.organization)
		if err != nil {
			return r.fail(err)
		}
		r.at.Sequence = oldest - 1
	}
	for {
		page, err := r.log.Entries(r.ctx, r.organization, r.at.Sequence, exportPage)
		if err == nil {
			err = r.log.Texts(r.ctx, page)
		}
		if err != nil {
			return r.fail(err)
		}
		for _, e := range page {
			r.at.Sequence = e.Sequence
			if !r.tell(e) {
				return false
			}
		}
		if len(page) < exportPage {
			return true
		}
	}
}

func (r *exportRun) webhooks() bool {
	for exported, err := range r.hooks.Export(r.ctx, r.organization, r.at.After) {
		if err != nil {
			return r.fail(err)
		}
		r.at.After = exported.Next
		if !r.tell(exported.Record) {
			return false
		}
	}
	return true
}
