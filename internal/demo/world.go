package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"baton/client"
	"baton/internal/localstack"
)

// World is two organizations that know nothing of each other but a discoverable worker.
type World struct {
	URL    string
	Shop   Organization // sells, and asks for refunds
	Bank   Organization // pays them
	Sender Agent        // of Shop
	Other  Agent        // of Shop too, but no party of what Sender does
	Worker Agent        // of Bank, discoverable
}

// Organization is a tenant with its first admin key.
type Organization struct {
	client.Organization
	Admin *client.Client
}

// Agent is an identity with a key.
type Agent struct {
	client.Identity
	Key    string
	Client *client.Client
}

// Make makes a world. Names get something random behind them, since handles are unique across the service.
func Make(ctx context.Context, stack localstack.Stack, options ...client.Option) (World, error) {
	suffix := strings.ToLower(rand.Text()[:5])
	w := World{URL: stack.APIURL}
	operator := client.New(stack.APIURL, stack.OperatorKey, options...)
	var err error
	if w.Shop, err = w.organization(ctx, operator, "Shop "+suffix, options); err != nil {
		return w, err
	}
	if w.Bank, err = w.organization(ctx, operator, "Bank "+suffix, options); err != nil {
		return w, err
	}
	if w.Sender, err = w.Agent(ctx, w.Shop, "support-"+suffix, false, options...); err != nil {
		return w, err
	}
	if w.Other, err = w.Agent(ctx, w.Shop, "stock-"+suffix, false, options...); err != nil {
		return w, err
	}
	w.Worker, err = w.Agent(ctx, w.Bank, "refund-"+suffix, true, options...)
	return w, err
}

func (w World) organization(ctx context.Context, operator *client.Client, name string, options []client.Option) (Organization, error) {
	o, err := operator.CreateOrganization(ctx, client.NewOrganization{Name: name, Verified: true})
	if err != nil {
		return Organization{}, fmt.Errorf("make the organization %s: %w", name, err)
	}
	return Organization{o, client.New(w.URL, o.Key.Secret, options...)}, nil
}

// Agent makes one more agent, with a key.
func (w World) Agent(ctx context.Context, o Organization, handle string, discoverable bool, options ...client.Option) (Agent, error) {
	on := true
	i, err := o.Admin.CreateIdentity(ctx, client.IdentityFields{
		Handle: &handle, DisplayName: &handle, A2AEnabled: &on, Discoverable: &discoverable,
	})
	if err != nil {
		return Agent{}, fmt.Errorf("make the agent @%s: %w", handle, err)
	}
	k, err := o.Admin.CreateKey(ctx, client.NewKey{Identity: i.ID})
	if err != nil {
		return Agent{}, fmt.Errorf("make a key for @%s: %w", handle, err)
	}
	return Agent{i, k.Secret, client.New(w.URL, k.Secret, options...)}, nil
}
