package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"baton/internal/directory"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
)

// Maker makes the organizations' buses, named as Buses names them, and keeps the rights of their AWS accounts on them.
// Safe for concurrent use.
type Maker struct {
	client        makerClient
	organizations organizationStore
	archiveDays   int32
}

type makerClient interface {
	CreateArchive(context.Context, *eventbridge.CreateArchiveInput, ...func(*eventbridge.Options)) (*eventbridge.CreateArchiveOutput, error)
	CreateEventBus(context.Context, *eventbridge.CreateEventBusInput, ...func(*eventbridge.Options)) (*eventbridge.CreateEventBusOutput, error)
	DescribeEventBus(context.Context, *eventbridge.DescribeEventBusInput, ...func(*eventbridge.Options)) (*eventbridge.DescribeEventBusOutput, error)
	PutPermission(context.Context, *eventbridge.PutPermissionInput, ...func(*eventbridge.Options)) (*eventbridge.PutPermissionOutput, error)
	RemovePermission(context.Context, *eventbridge.RemovePermissionInput, ...func(*eventbridge.Options)) (*eventbridge.RemovePermissionOutput, error)
}

type organizationStore interface {
	Organization(ctx context.Context, id task.ID) (directory.Organization, error)
	SaveOrganization(ctx context.Context, was, now directory.Organization, jobs ...directory.Job) error
}

// NewMaker returns a maker. organizations may be nil for one that only ever is asked to Create.
func NewMaker(client makerClient, organizations organizationStore) *Maker {
	return &Maker{client: client, organizations: organizations}
}

var (
	_ BusMaker        = (*Maker)(nil)
	_ directory.Buses = (*Maker)(nil)
)

// Create implements directory.Buses. Whatever goes wrong leaves the bus pending: MakeBus tries again each minute.
func (m *Maker) Create(ctx context.Context, o directory.Organization) directory.Bus {
	arn, err := m.create(ctx, o)
	if err != nil {
		slog.WarnContext(ctx, "no bus for now", "organization_id", o.ID.String(), "error", err)
		return directory.Bus{Name: o.Bus.Name, Status: directory.BusPending}
	}
	return directory.Bus{Name: o.Bus.Name, ARN: arn, Status: directory.BusActive}
}

// MakeBus implements BusMaker, and says in the organization how its bus stands.
func (m *Maker) MakeBus(ctx context.Context, id task.ID) error {
	for {
		o, err := m.organizations.Organization(ctx, id)
		switch {
		case errors.Is(err, directory.ErrNotFound):
			return ErrNoBus
		case err != nil:
			return err
		case o.Purging:
			return ErrNoBus
		}
		now := o
		if now.Bus = m.Create(ctx, o); now.Bus != o.Bus {
			now.Version++
			err := m.organizations.SaveOrganization(ctx, o, now)
			if errors.Is(err, directory.ErrStale) && ctx.Err() == nil {
				continue
			}
			if err != nil {
				return err
			}
		}
		if now.Bus.Status != directory.BusActive {
			return ErrNoBus
		}
		return nil
	}
}

func (m *Maker) create(ctx context.Context, o directory.Organization) (arn string, err error) {
	arn, err = m.ensure(ctx, o.Bus.Name)
	if err != nil {
		return "", err
	}
	if err := m.archive(ctx, o, arn); err != nil {
		return "", err
	}
	if o.AWSAccountID == "" {
		_, err := m.client.RemovePermission(ctx, &eventbridge.RemovePermissionInput{EventBusName: &o.Bus.Name, RemoveAllPermissions: true})
		var none *types.ResourceNotFoundException
		if err != nil && !errors.As(err, &none) {
			return "", fmt.Errorf("relay: take rights on bus back: %w", err)
		}
		return arn, nil
	}
	policy := busPolicy(arn, o.AWSAccountID)
	if _, err := m.client.PutPermission(ctx, &eventbridge.PutPermissionInput{EventBusName: &o.Bus.Name, Policy: &policy}); err != nil {
		return "", fmt.Errorf("relay: give rights on bus: %w", err)
	}
	return arn, nil
}

// ensure makes the bus or finds it made.
func (m *Maker) ensure(ctx context.Context, name string) (arn string, err error) {
	made, err := m.client.CreateEventBus(ctx, &eventbridge.CreateEventBusInput{Name: &name})
	var exists *types.ResourceAlreadyExistsException
	switch {
	case errors.As(err, &exists):
		found, err := m.client.DescribeEventBus(ctx, &eventbridge.DescribeEventBusInput{Name: &name})
		if err != nil {
			return "", fmt.Errorf("relay: find bus: %w", err)
		}
		return *found.Arn, nil
	case err != nil:
		return "", fmt.Errorf("relay: make bus: %w", err)
	}
	return *made.EventBusArn, nil
}

// busPolicy lets an account make rules on one bus and see and change those that it made, and nothing else: not those
// of others, not the bus, and it may put no events on it. The condition is the one that EventBridge documents for
// rules of other accounts ("Managing event bus permissions"); it holds when a rule is made, since there is no creator yet.
func busPolicy(arn, account string) string {
	rules := strings.Replace(arn, ":event-bus/", ":rule/", 1) + "/*"
	partition := strings.SplitN(arn, ":", 3)[1]
	text, err := json.Marshal(map[string]any{
		"Version": "2012-10-17",
		"Statement": []any{map[string]any{
			"Sid":       "OwnRules",
			"Effect":    "Allow",
			"Principal": map[string]string{"AWS": "arn:" + partition + ":iam::" + account + ":root"},
			"Action": []string{
				"events:PutRule", "events:DeleteRule", "events:DescribeRule", "events:EnableRule", "events:DisableRule",
				"events:PutTargets", "events:RemoveTargets", "events:ListTargetsByRule", "events:TagResource", "events:UntagResource",
				"events:ListTagsForResource",
			},
			"Resource":  rules,
			"Condition": map[string]any{"StringEqualsIfExists": map[string]string{"events:creatorAccount": account}},
		}},
	})
	if err != nil {
		panic(err) // strings only
	}
	return string(text)
}
