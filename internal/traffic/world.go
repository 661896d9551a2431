package traffic

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"

	"baton/client"
)

// World is organizations whose agents talk to each other, and one whose agent has no part in any of it.
type World struct {
	URL           string
	Operator      *client.Client
	Organizations []*Organization
	Outsider      *Agent // knows every id that there is
	options       []client.Option
}

// Organization is a tenant.
type Organization struct {
	client.Organization
	Admin  *client.Client
	Agents []*Agent
}

// Agent is an identity that anybody may send to, with a key that may be exchanged while it talks.
type Agent struct {
	client.Identity
	organization *Organization

	mu  sync.Mutex
	now *client.Client
	key string
}

// Client is the agent's client with the key of the moment.
func (a *Agent) Client() *client.Client {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now
}

// Key is the agent's key of the moment.
func (a *Agent) Key() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.key
}

// Make makes a world of n organizations with some agents each. The options are those of all its clients.
func Make(ctx context.Context, url, operatorKey string, n, agents int, options ...client.Option) (*World, error) {
	w := &World{URL: url, Operator: client.New(url, operatorKey, options...), options: options, Organizations: make([]*Organization, n)}
	errs := make([]error, n+1)
	var all sync.WaitGroup
	slots := make(chan struct{}, 6)
	for i := range n + 1 {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if i == n {
				errs[i] = w.makeOutsider(ctx)
				return
			}
			w.Organizations[i], errs[i] = w.Organization(ctx, fmt.Sprintf("Organization %d", i), agents)
		})
	}
	all.Wait()
	return w, errors.Join(errs...)
}

func (w *World) makeOutsider(ctx context.Context) error {
	o, err := w.Organization(ctx, "Outsider", 1)
	if err != nil {
		return err
	}
	w.Outsider = o.Agents[0]
	return nil
}

// Organization makes one more, which is none of those that talk by themselves.
func (w *World) Organization(ctx context.Context, name string, agents int) (*Organization, error) {
	made, err := w.Operator.CreateOrganization(ctx, client.NewOrganization{Name: name})
	if err != nil {
		return nil, fmt.Errorf("traffic: make %s: %w", name, err)
	}
	o := &Organization{Organization: made, Admin: client.New(w.URL, made.Key.Secret, w.options...)}
	for range agents {
		a, err := w.Agent(ctx, o, client.NewKey{})
		if err != nil {
			return nil, err
		}
		o.Agents = append(o.Agents, a)
	}
	return o, nil
}

// Agent makes one more agent of an organization, which is none of those that talk by themselves. k says when its key ends.
func (w *World) Agent(ctx context.Context, o *Organization, k client.NewKey) (*Agent, error) {
	handle, on := "a"+strings.ToLower(rand.Text()[:20]), true
	i, err := o.Admin.CreateIdentity(ctx, client.IdentityFields{Handle: &handle, DisplayName: &handle, A2AEnabled: &on, Discoverable: &on})
	if err != nil {
		return nil, fmt.Errorf("traffic: make an agent: %w", err)
	}
	a := &Agent{Identity: i, organization: o}
	return a, w.Rekey(ctx, a, k)
}

// Rekey gives an agent a new key.
func (w *World) Rekey(ctx context.Context, a *Agent, k client.NewKey) error {
	k.Identity = a.ID
	made, err := a.organization.Admin.CreateKey(ctx, k)
	if err != nil {
		return fmt.Errorf("traffic: make a key: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.key, a.now = made.Secret, client.New(w.URL, made.Secret, w.options...)
	return nil
}

// Agents are all that talk.
func (w *World) Agents() (all []*Agent) {
	for _, o := range w.Organizations {
		all = append(all, o.Agents...)
	}
	return all
}
