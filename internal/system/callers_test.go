package system

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"baton/internal/httpapi"
	"baton/internal/localaws"
	"baton/internal/task"
)

// Every route knows every kind of caller: none is answered as if the service had failed.
func TestEveryRouteKnowsItsCallers(t *testing.T) {
	t.Parallel()
	w := world(t)
	victim, other := agent(t, w.Shop, true), agent(t, w.Shop, false)
	events(t, w.Shop.ID, newTask(t, other, victim, "So that there is an event.").ID, 1)
	turns := make(chan struct{}, 8)
	var all sync.WaitGroup
	for _, r := range httpapi.Routes {
		for name, headers := range map[string][]string{
			"an agent":         nil,
			"an admin":         nil,
			"an admin as @one": {"X-Act-As-Identity", "@" + victim.Handle},
			"the operator":     nil,
		} {
			key := map[string]string{"an agent": victim.Key, "the operator": localaws.Stack(t).OperatorKey}[name]
			if key == "" {
				key = w.Shop.Key.Secret
			}
			subject := victim.Handle
			if r.Method == http.MethodDelete {
				subject = other.ID
			}
			path := strings.NewReplacer("{agent}", "@"+subject, "{callee}", victim.Handle, "{id}", task.NewID().String(),
				"{delivery}", task.NewID().String()).Replace(r.Path)
			var body any
			if r.Method != http.MethodGet && r.Method != http.MethodDelete {
				body = "{}"
			}
			if strings.HasPrefix(r.Path, "/v1/events/") {
				path += "?timeout_ms=0&since=2020-01-01T00:00:00Z"
				path = strings.Replace(path, "stream?timeout_ms=0&", "stream?", 1)
			}
			turns <- struct{}{}
			all.Go(func() {
				defer func() { <-turns }()
				a, err := try(t, key, r.Method, path, body, headers...)
				if err != nil || a.status >= 500 || a.status == http.StatusUnauthorized || a.status == http.StatusMethodNotAllowed {
					t.Errorf("%s: %s %s: %d %.300s, %v", name, r.Method, path, a.status, a.body, err)
				}
			})
		}
	}
	all.Wait()
}
