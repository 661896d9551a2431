package httpapi

import (
	"context"
	"net/http"
	"time"

	"baton/internal/task"
)

// Claimer is what claim-task asks of tasks; task.Service implements it.
type Claimer interface {
	Claim(ctx context.Context, worker task.Viewer, most int, length, wait time.Duration) ([]task.View, error)
}

type claimBody struct {
	Max          *int `json:"max"`
	LeaseSeconds *int `json:"lease_seconds"`
	Wait         *int `json:"wait"`
}

type claimsWire struct {
	Items []claimWire `json:"items"`
	views []task.View // of the items
}

type claimWire struct {
	Task           taskWire `json:"task"`
	LeaseID        string   `json:"lease_id"`
	LeaseExpiresAt string   `json:"lease_expires_at"`
}

// ClaimTask serves the endpoint claim-task: tasks for the worker that asks, each under a lease (contract section 2,
// "Claim"). The body may be empty.
func ClaimTask(e *Edge, tasks Claimer) Handler {
	return e.handler("claim-task", func(c *call) (answer, error) {
		worker, err := c.actor()
		if err != nil {
			return answer{}, err
		}
		if err := c.params().err(); err != nil {
			return answer{}, err
		}
		var body claimBody
		if err := c.decode(&body, true); err != nil {
			return answer{}, err
		}
		var bad task.Invalid
		number := func(field string, given *int, least, most, otherwise int) int {
			if given == nil {
				return otherwise
			}
			if *given < least || *given > most {
				bad = append(bad, task.FieldError{Field: field, Message: wholeNumber(least, most)})
			}
			return *given
		}
		most := number("max", body.Max, 1, 10, 1)
		lease := number("lease_seconds", body.LeaseSeconds, 30, 3600, 300)
		wait := number("wait", body.Wait, 0, 30, 0)
		if bad != nil {
			return answer{}, bad
		}
		if err := c.may(); err != nil {
			return answer{}, err
		}
		viewer := task.Viewer{Identity: worker.ID, Organization: worker.Organization.ID, Side: task.Received}
		held := min(time.Duration(wait)*time.Second, heldAtMost)
		claimed, err := tasks.Claim(c, viewer, most, time.Duration(lease)*time.Second, held)
		if err == nil && held > 0 {
			err = c.still()
		}
		if err != nil {
			return answer{}, err
		}
		header := map[string]string{}
		if c.minimal() {
			header["Preference-Applied"] = "return=minimal"
		}
		items := make([]claimWire, len(claimed))
		for i, v := range claimed {
			v.Minimal = c.minimal()
			items[i] = claimWire{viewWire(v), v.Lease.ID.String(), timestamp(v.Lease.ExpiresAt)}
		}
		return answer{status: http.StatusOK, header: header, body: &claimsWire{items, claimed}}, nil
	})
}

// shrink leaves out the oldest message of the longest history, or where every task has one message left, all of one
// task: it is clipped then as in a list, and the worker reads it.
func (w *claimsWire) shrink() bool {
	var longest *taskWire
	for i := range w.Items {
		t := &w.Items[i].Task
		if t.Messages != nil && (longest == nil || len(*t.Messages) > len(*longest.Messages)) {
			longest = t
		}
	}
	if longest == nil || longest.shrink() {
		return longest != nil
	}
	for i := range w.Items {
		if &w.Items[i].Task == longest {
			v := w.views[i]
			v.Minimal = true
			w.Items[i].Task = viewWire(v)
		}
	}
	return true
}
