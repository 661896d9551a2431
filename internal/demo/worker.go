package demo

import (
	"context"
	"strings"

	"baton/internal/localstack"
)

// DeployWorker builds and deploys examples/refund-worker for an agent: from then on a rule on its organization's bus
// starts it.
func DeployWorker(ctx context.Context, tree localstack.Tree, stack localstack.Stack, o Organization, a Agent) error {
	const folder = "examples/refund-worker"
	functions, err := tree.Build(ctx, tree.Path(".local", "build", "examples"), "./"+folder)
	if err != nil {
		return err
	}
	server, err := stack.Server()
	if err != nil {
		return err
	}
	_, err = tree.Deploy(ctx, server, localstack.Application{
		Stack:    "worker-" + strings.ToLower(a.Handle),
		Template: folder + "/template.yaml",
		Parameters: map[string]string{
			"EventBusName": o.EventBus.Name, "IdentityId": a.ID, "BatonUrl": stack.APIURL, "AgentKey": a.Key,
		},
	}, functions)
	return err
}
