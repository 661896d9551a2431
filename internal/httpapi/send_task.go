package httpapi

import (
	"errors"
	"net/http"

	"baton/internal/directory"
	"baton/internal/task"
)

type sendBody struct {
	messageBody      `json:",inline"`
	TargetHandle     *string `json:"target_handle"`
	TargetIdentityID *string `json:"target_identity_id"`
	ContextID        *string `json:"context_id"`
}

// SendTask serves the endpoint send-task: 201 with the new task, or 200 with the one that an earlier send with the same
// message_id made, also when its worker was deleted since.
func SendTask(e *Edge, workers Workers, tasks Tasks) Handler {
	return e.handler("send-task", func(c *call) (answer, error) {
		a, gone, err := c.send(workers, tasks)
		if gone && err != nil && !errors.Is(err, task.ErrUnavailable) {
			err = directory.ErrNotFound // whatever else is wrong, as for a worker that never was
		}
		return a, err
	})
}

// send answers a send; gone says that its worker was deleted.
func (c *call) send(workers Workers, tasks Tasks) (a answer, gone bool, err error) {
	from, err := c.actor()
	if err != nil {
		return answer{}, false, err
	}
	callee, inPath, err := c.calleeOfSend(workers)
	if gone = wasThere(callee, err); err != nil && !gone {
		return answer{}, false, err
	}
	p := c.params("wait")
	wait := p.wait()
	if err := p.err(); err != nil {
		return answer{}, gone, err
	}
	var body sendBody
	if err := c.decode(&body, false); err != nil {
		return answer{}, gone, err
	}
	draft, err := c.draft(body.messageBody, false)
	if err != nil {
		return answer{}, gone, err
	}
	ref, field, err := c.target(body)
	if err != nil {
		return answer{}, gone, err
	}
	send := task.Send{From: from.Caller(), Message: draft, Minimal: c.minimal()}
	if body.ContextID != nil {
		id, ok := task.GivenID(*body.ContextID)
		if !ok {
			return answer{}, gone, invalid("context_id", "must be a UUID")
		}
		send.Context = id
	}
	to := callee
	if !inPath {
		to, err = workers.Target(c, ref)
		if gone = wasThere(to, err); err != nil && !gone {
			return answer{}, false, err
		}
	}
	if to.ID == from.ID {
		return answer{}, gone, invalid(field, "must be another agent than the requester")
	}
	if err := c.may(); err != nil {
		return answer{}, gone, err
	}
	send.To = to.Party()
	if send.Refused = directory.ErrNotFound; !gone {
		beside, counted := directory.Beside(c)
		defer counted()
		send.Refused = workers.Admit(beside, from, to)
	}
	v, created, err := tasks.Send(c, send)
	if err != nil {
		return answer{}, gone, err
	}
	if wait > 0 && v.State.Waiting() {
		viewer := task.Viewer{Identity: from.ID, Organization: from.Organization.ID, Side: task.Sent}
		if later, err := tasks.Wait(c, viewer, v.ID, wait); err == nil && c.still() == nil { // the task is sent, whatever becomes of waiting
			v = later
			v.Minimal = send.Minimal
		}
	}
	if !created {
		return taskAnswer(http.StatusOK, v), gone, nil
	}
	return taskAnswer(http.StatusCreated, v), gone, nil
}

// wasThere says that a worker was not found because it was deleted.
func wasThere(i directory.Identity, err error) bool {
	return errors.Is(err, directory.ErrNotFound) && !i.ID.IsZero()
}

// calleeOfSend is the worker that the path names, if it names one.
func (c *call) calleeOfSend(workers Workers) (i directory.Identity, there bool, err error) {
	name, there := c.request.PathParameters["callee"]
	if !there {
		return directory.Identity{}, false, nil
	}
	ref, ok := directory.ParseRef(pathValue(name))
	if !ok {
		return directory.Identity{}, true, directory.ErrNotFound
	}
	i, err = workers.Target(c, ref)
	return i, true, err
}

// target is the worker of exactly one of two fields, or of neither where the path names it; field is which.
func (c *call) target(b sendBody) (ref directory.Ref, field string, err error) {
	if _, inPath := c.request.PathParameters["callee"]; inPath {
		switch {
		case b.TargetHandle != nil:
			return ref, "", invalid("target_handle", "is in the path already")
		case b.TargetIdentityID != nil:
			return ref, "", invalid("target_identity_id", "is in the path already")
		}
		return ref, "callee", nil
	}
	switch {
	case b.TargetHandle != nil && b.TargetIdentityID != nil:
		return ref, "", invalid("target_handle", "and target_identity_id can't both be given")
	case b.TargetHandle != nil:
		ref, ok := directory.ParseRef(*b.TargetHandle)
		if !ok {
			return ref, "", invalid("target_handle", "must be a handle: 3 to 32 of a-z, 0-9 and -, starting with a letter and not ending in -; or an identity's id")
		}
		return ref, "target_handle", nil
	case b.TargetIdentityID != nil:
		id, ok := task.GivenID(*b.TargetIdentityID)
		if !ok {
			return ref, "", invalid("target_identity_id", "must be a UUID")
		}
		return directory.Ref{ID: id}, "target_identity_id", nil
	}
	return ref, "", invalid("target_handle", "or target_identity_id must be given")
}
