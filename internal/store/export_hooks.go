package store

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"baton/internal/directory"
	"baton/internal/task"
	"baton/internal/webhook"
)

// ExportHooks reads out an organization's webhooks, each a webhook.Hook and then its deliveries as webhook.Delivery, for
// directory.Exporter.
type ExportHooks struct {
	hooks      *Directory
	deliveries *Deliveries
}

var _ directory.ExportHooks = ExportHooks{}

// Of returns what reads out hooks with these deliveries.
func (s *Deliveries) Of(hooks *Directory) ExportHooks { return ExportHooks{hooks, s} }

// hookPlace is the hook of which was read out, and its delivery before which the walk goes on, 0 for the newest.
type hookPlace struct {
	Hook   task.ID
	Before int64
}

const deliveriesAtOnce = 100

// Export implements directory.ExportHooks.
func (e ExportHooks) Export(ctx context.Context, organization task.ID, after []byte) iter.Seq2[directory.Exported, error] {
	return func(yield func(directory.Exported, error) bool) {
		var at hookPlace
		if after != nil && json.Unmarshal(after, &at) != nil {
			yield(directory.Exported{}, fmt.Errorf("store: export webhooks of %s: %q is no place", organization, after))
			return
		}
		tell := func(record any) bool {
			next, err := json.Marshal(at)
			return yield(directory.Exported{Record: record, Next: next}, err)
		}
		hooks, err := e.hooks.Hooks(ctx, organization)
		if err != nil {
			yield(directory.Exported{}, err)
			return
		}
		byID := func(h webhook.Hook, id task.ID) int { return slices.Compare(h.ID[:], id[:]) }
		slices.SortFunc(hooks, func(a, b webhook.Hook) int { return byID(a, b.ID) })
		from, _ := slices.BinarySearchFunc(hooks, at.Hook, byID) // one that was deleted meanwhile is gone with its deliveries
		for _, h := range hooks[from:] {
			if h.ID != at.Hook {
				if at = (hookPlace{h.ID, 0}); !tell(h) {
					return
				}
			}
			for more := true; more; {
				page, next, err := e.deliveries.Deliveries(ctx, h.ID, at.Before, deliveriesAtOnce)
				if err != nil {
					yield(directory.Exported{}, err)
					return
				}
				for _, d := range page {
					at.Before, _ = webhook.Place(h.ID, d.ID)
					if !tell(d) {
						return
					}
				}
				more = next > 0
			}
		}
	}
}
