package httpapi

import (
	"cmp"
	"net/http"

	"baton/internal/directory"
	"baton/internal/task"
)

// ReadTask serves the endpoint read-task: one task with its newest messages, at once or when the worker answered;
// 304 without it where If-None-Match names its version.
func ReadTask(e *Edge, workers Workers, tasks Tasks) Handler {
	return e.handler("read-task", func(c *call) (answer, error) {
		viewer, err := c.viewer()
		if err != nil {
			return answer{}, err
		}
		callee, err := c.callee(workers)
		if err != nil {
			return answer{}, err
		}
		viewer.Target = callee
		p := c.params("wait")
		wait := p.wait()
		had, err := c.ifNoneMatch()
		if err := cmp.Or(p.err(), err); err != nil {
			return answer{}, c.calleeFirst(workers, err)
		}
		if c.forbidden { // whether there is such a task is not for this caller to know
			return answer{}, c.may()
		}
		id, err := c.taskID()
		if err != nil {
			return answer{}, err
		}
		read := func() (v task.View, err error) {
			if wait == 0 {
				return tasks.Read(c, viewer, id, false)
			}
			if v, err = tasks.Wait(c, viewer, id, wait); err == nil {
				err = c.still()
			}
			return v, err
		}
		v, err := read()
		if err != nil {
			return answer{}, err
		}
		if err := c.may(); err != nil {
			return answer{}, err
		}
		a := taskAnswer(http.StatusOK, v)
		if had(v.Version) {
			a.status, a.body = http.StatusNotModified, nil
		}
		return a, nil
	})
}

// callee is the worker that a path names, who must be the task's target; zero where the path names none. One that is
// named by its id is not looked up: a task of nobody's is not found anyway.
func (c *call) callee(workers Workers) (task.ID, error) {
	name, there := c.request.PathParameters["callee"]
	if !there {
		return task.ID{}, nil
	}
	ref, ok := directory.ParseRef(pathValue(name))
	if !ok {
		return task.ID{}, directory.ErrNotFound
	}
	if ref.Handle == "" {
		return ref.ID, nil
	}
	i, err := workers.Target(c, ref)
	return i.ID, err
}

// calleeFirst puts the 404 of a callee that doesn't exist before what else is wrong.
func (c *call) calleeFirst(workers Workers, wrong error) error {
	if ref, ok := directory.ParseRef(pathValue(c.request.PathParameters["callee"])); ok {
		if _, err := workers.Target(c, ref); err != nil {
			return err
		}
	}
	return wrong
}
