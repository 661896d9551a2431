package faults

import (
	"errors"

	"baton/client"
	"baton/internal/store"
	"baton/internal/task"
	"baton/internal/traffic"
)

// purge is an organization that is purged in the middle of a fault, with the tasks that it had.
type purge struct {
	organization task.ID
	tasks        []task.ID
}

// purgeOne lets an organization talk with itself, and asks for it to be purged.
func (s *stage) purgeOne() {
	ctx := s.Context()
	o, err := s.traffic.World.Organization(ctx, "Leaving", 2)
	if err != nil {
		s.Error(err)
		return
	}
	s.gone.organization, _ = task.ParseID(o.ID)
	for range 5 {
		t, err := o.Agents[0].Client().Send(ctx, client.Send{To: o.Agents[1].Handle, Draft: client.Draft{Message: "Once more"}})
		if err != nil {
			s.Error(err)
			return
		}
		id, _ := task.ParseID(t.ID)
		s.gone.tasks = append(s.gone.tasks, id)
	}
	if _, err := o.Admin.PurgeOrganization(ctx, o.ID); err != nil {
		s.Error(err)
	}
}

// purged notes what is left of the organization.
func (s *stage) purged() {
	ctx := s.Context()
	for _, id := range s.gone.tasks {
		if _, err := store.NewTasks(s.db, s.tables.Tasks).Load(ctx, id, true); !errors.Is(err, task.ErrNotFound) {
			s.broken(traffic.Free, "task %s of a purged organization: %v", id, err)
		}
	}
	if entries, err := s.log(s.db, nil).Entries(ctx, s.gone.organization, 0, 10); err != nil || len(entries) > 0 {
		s.broken(traffic.Free, "the log of a purged organization has %d entries, %v", len(entries), err)
	}
	if _, err := store.NewDirectory(s.db, s.tables.Directory).Organization(ctx, s.gone.organization); err == nil {
		s.broken(traffic.Free, "a purged organization is in the directory")
	}
}

func (s *stage) broken(i traffic.Invariant, format string, a ...any) {
	s.Helper()
	s.Errorf("%s: "+format, append([]any{i}, a...)...)
}
