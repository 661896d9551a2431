package webhook_test

import (
	"errors"
	"sync"
	"testing"

	"baton/internal/task"
	"baton/internal/webhook"
)

func TestHooksMadeAtOnceAreNotTooMany(t *testing.T) {
	w := newWorld(t)
	url, events := w.receivers.url+"/x", []string{"a2a.task.created"}
	var race sync.WaitGroup
	for range 2 * webhook.MaxHooks {
		race.Go(func() {
			_, err := w.service.Create(t.Context(), w.shop, webhook.Edit{URL: &url, Events: &events, Identity: new(task.NewID())})
			if err != nil && !errors.Is(err, webhook.ErrTooMany) {
				t.Error(err)
			}
		})
	}
	race.Wait()
	hooks, err := w.service.Hooks(t.Context(), w.shop)
	w.must(err)
	if len(hooks) > webhook.MaxHooks {
		t.Errorf("%d hooks", len(hooks))
	}
}
