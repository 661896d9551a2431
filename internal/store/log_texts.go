package store

import (
	"context"
	"errors"

	"baton/internal/task"
)

// changeKey names one change.
type changeKey struct {
	task   task.ID
	number int
}

// completeTexts replaces the cut texts of events by the whole ones, reading each change once.
func completeTexts(ctx context.Context, changes Changes, events []task.Event) error {
	read := map[changeKey]task.Clip{}
	whole := func(c task.Clip, id task.ID, number int) (task.Clip, error) {
		if !c.Cut || number == 0 {
			return c, nil
		}
		key := changeKey{id, number}
		if text, ok := read[key]; ok {
			return text, nil
		}
		change, err := changes.Change(ctx, id, number)
		switch {
		case errors.Is(err, task.ErrUnavailable):
			return c, err
		case err == nil && change.Message != nil:
			if text, ok := change.Message.Text(); ok {
				c = task.Clip{Text: text}
			}
		}
		read[key] = c
		return c, nil
	}
	for i := range events {
		e := &events[i]
		var err error
		if e.Message, err = whole(e.Message, e.Task, e.Version); err != nil {
			return err
		}
		if e.Result, err = whole(e.Result, e.Task, e.ResultChange); err != nil {
			return err
		}
	}
	return nil
}
