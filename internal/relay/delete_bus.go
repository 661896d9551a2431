package relay

import (
	"context"
	"errors"
	"fmt"

	"baton/internal/directory"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
)

// BusRemover is what DeleteBus asks of EventBridge.
type BusRemover interface {
	ListRules(context.Context, *eventbridge.ListRulesInput, ...func(*eventbridge.Options)) (*eventbridge.ListRulesOutput, error)
	ListTargetsByRule(context.Context, *eventbridge.ListTargetsByRuleInput, ...func(*eventbridge.Options)) (*eventbridge.ListTargetsByRuleOutput, error)
	RemoveTargets(context.Context, *eventbridge.RemoveTargetsInput, ...func(*eventbridge.Options)) (*eventbridge.RemoveTargetsOutput, error)
	DeleteRule(context.Context, *eventbridge.DeleteRuleInput, ...func(*eventbridge.Options)) (*eventbridge.DeleteRuleOutput, error)
	DeleteEventBus(context.Context, *eventbridge.DeleteEventBusInput, ...func(*eventbridge.Options)) (*eventbridge.DeleteEventBusOutput, error)
}

// DeleteBus returns what deletes an organization's bus, with its rules: EventBridge deletes no bus that has some.
func DeleteBus(client BusRemover) func(context.Context, directory.Organization) error {
	return func(ctx context.Context, o directory.Organization) error {
		if err := emptyBus(ctx, client, o.Bus.Name); err != nil {
			return fmt.Errorf("relay: delete rules of bus: %w", err)
		}
		if _, err := client.DeleteEventBus(ctx, &eventbridge.DeleteEventBusInput{Name: &o.Bus.Name}); err != nil {
			return fmt.Errorf("relay: delete bus: %w", err) // not for one that is gone: that is a success
		}
		return nil
	}
}

func emptyBus(ctx context.Context, client BusRemover, bus string) error {
	for {
		rules, err := client.ListRules(ctx, &eventbridge.ListRulesInput{EventBusName: &bus})
		var gone *types.ResourceNotFoundException
		switch {
		case errors.As(err, &gone):
			return nil
		case err != nil:
			return err
		case len(rules.Rules) == 0:
			return nil
		}
		for _, r := range rules.Rules {
			targets, err := client.ListTargetsByRule(ctx, &eventbridge.ListTargetsByRuleInput{EventBusName: &bus, Rule: r.Name})
			if err != nil {
				return err
			}
			var ids []string
			for _, t := range targets.Targets {
				ids = append(ids, *t.Id)
			}
			if len(ids) > 0 {
				if _, err := client.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{EventBusName: &bus, Rule: r.Name, Ids: ids, Force: true}); err != nil {
					return err
				}
			}
			if _, err := client.DeleteRule(ctx, &eventbridge.DeleteRuleInput{EventBusName: &bus, Name: r.Name, Force: true}); err != nil {
				return err
			}
		}
	}
}
