package httpapi

import (
	"baton/internal/directory"
	"baton/internal/task"
)

// Route is one row of the API. Its Endpoint names the function that serves it, in kebab case; the same word is the
// function's folder, its resource in the template, its file here and its sample events.
type Route struct {
	Method   string
	Path     string // as in the template: {agent}, {callee} and {id} are parameters
	Endpoint string
	Right    directory.Right
	Side     task.Side // on which side of a task the agent of the path must stand
}

// Routes is every route there is. Tests hold the template, the OpenAPI document, the functions and the sample events
// against it, and the table of who may call what is made from it.
var Routes = []Route{
	{"POST", "/v1/a2a/tasks", "send-task", directory.WriteTasks, task.Sent},
	{"POST", "/v1/identities/{agent}/a2a/tasks", "send-task", directory.WriteTasks, task.Sent},
	{"POST", "/v1/identities/{agent}/a2a/sent/tasks", "send-task", directory.WriteTasks, task.Sent},
	{"POST", "/v1/agents/{callee}/tasks", "send-task", directory.WriteTasks, task.Sent},

	{"GET", "/v1/a2a/tasks/{id}", "read-task", directory.ReadTasks, task.EitherSide},
	{"GET", "/v1/identities/{agent}/a2a/tasks/{id}", "read-task", directory.ReadTasks, task.Received},
	{"GET", "/v1/identities/{agent}/a2a/sent/tasks/{id}", "read-task", directory.ReadTasks, task.Sent},
	{"GET", "/v1/agents/{callee}/tasks/{id}", "read-task", directory.ReadTasks, task.EitherSide},

	{"GET", "/v1/a2a/tasks/search", "list-tasks", directory.ReadTasks, task.EitherSide},
	{"GET", "/v1/identities/{agent}/a2a/tasks", "list-tasks", directory.ReadTasks, task.Received},
	{"GET", "/v1/identities/{agent}/a2a/sent/tasks", "list-tasks", directory.ReadTasks, task.Sent},
	{"GET", "/v1/a2a/tasks", "list-tasks", directory.ReadTasks, task.EitherSide}, // deprecated

	{"POST", "/v1/a2a/tasks/{id}/messages", "add-message", directory.WriteTasks, task.EitherSide},
	{"POST", "/v1/identities/{agent}/a2a/sent/tasks/{id}/messages", "add-message", directory.WriteTasks, task.Sent},

	{"GET", "/v1/a2a/tasks/{id}/messages", "list-messages", directory.ReadTasks, task.EitherSide},
	{"GET", "/v1/identities/{agent}/a2a/tasks/{id}/messages", "list-messages", directory.ReadTasks, task.Received},
	{"GET", "/v1/identities/{agent}/a2a/sent/tasks/{id}/messages", "list-messages", directory.ReadTasks, task.Sent},

	{"POST", "/v1/a2a/tasks/{id}/reply", "reply-task", directory.WriteTasks, task.EitherSide},
	{"POST", "/v1/identities/{agent}/a2a/tasks/{id}/reply", "reply-task", directory.WriteTasks, task.Received},

	{"POST", "/v1/a2a/tasks/{id}/cancel", "cancel-task", directory.WriteTasks, task.EitherSide},
	{"POST", "/v1/identities/{agent}/a2a/sent/tasks/{id}/cancel", "cancel-task", directory.WriteTasks, task.Sent},
	{"POST", "/v1/agents/{callee}/tasks/{id}/cancel", "cancel-task", directory.WriteTasks, task.EitherSide},

	{"POST", "/v1/a2a/tasks/claim", "claim-task", directory.WriteTasks, task.Received},
	{"POST", "/v1/identities/{agent}/a2a/tasks/claim", "claim-task", directory.WriteTasks, task.Received},

	{"GET", "/v1/a2a/messages", "search-messages", directory.ReadTasks, task.EitherSide},
	{"GET", "/v1/identities/{agent}/a2a/messages", "search-messages", directory.ReadTasks, task.EitherSide},

	{"GET", "/v1/a2a/contexts", "list-contexts", directory.ReadTasks, task.EitherSide},
	{"GET", "/v1/identities/{agent}/a2a/contexts", "list-contexts", directory.ReadTasks, task.EitherSide},
	{"GET", "/v1/a2a/contexts/{id}", "read-context", directory.ReadTasks, task.EitherSide},
	{"GET", "/v1/identities/{agent}/a2a/contexts/{id}", "read-context", directory.ReadTasks, task.EitherSide},

	{"PATCH", "/v1/a2a/tasks/{id}", "set-task-state", directory.WriteTasks, task.EitherSide}, // deprecated

	{"POST", "/v1/organizations", "manage-organizations", directory.RunService, task.EitherSide},
	{"GET", "/v1/organizations/{id}", "manage-organizations", directory.ReadOrg, task.EitherSide},
	{"PATCH", "/v1/organizations/{id}", "manage-organizations", directory.WriteOrg, task.EitherSide},
	{"POST", "/v1/organizations/{id}/suspend", "manage-organizations", directory.RunService, task.EitherSide},
	{"POST", "/v1/organizations/{id}/resume", "manage-organizations", directory.RunService, task.EitherSide},

	{"POST", "/v1/organizations/{id}/purge", "manage-organizations", directory.WriteOrg, task.EitherSide},
	{"POST", "/v1/organizations/{id}/export", "export-organization", directory.WriteOrg, task.EitherSide},

	{"POST", "/v1/identities", "manage-identities", directory.WriteIdentities, task.EitherSide},
	{"GET", "/v1/identities", "manage-identities", directory.ReadIdentities, task.EitherSide},
	{"GET", "/v1/identities/{agent}", "manage-identities", directory.ReadIdentities, task.EitherSide},
	{"PATCH", "/v1/identities/{agent}", "manage-identities", directory.EditProfile, task.EitherSide},
	{"DELETE", "/v1/identities/{agent}", "manage-identities", directory.WriteIdentities, task.EitherSide},

	{"POST", "/v1/keys", "manage-keys", directory.WriteKeys, task.EitherSide},
	{"GET", "/v1/keys", "manage-keys", directory.ReadKeys, task.EitherSide},
	{"DELETE", "/v1/keys/{id}", "manage-keys", directory.WriteKeys, task.EitherSide},

	{"POST", "/v1/a2a/connections", "manage-connections", directory.WriteAccess, task.EitherSide},
	{"GET", "/v1/a2a/connections", "manage-connections", directory.ReadAccess, task.EitherSide},
	{"POST", "/v1/a2a/connections/{id}/approve", "manage-connections", directory.WriteAccess, task.EitherSide},
	{"POST", "/v1/a2a/connections/{id}/decline", "manage-connections", directory.WriteAccess, task.EitherSide},
	{"POST", "/v1/a2a/connections/{id}/revoke", "manage-connections", directory.WriteAccess, task.EitherSide},

	{"GET", "/v1/identities/{agent}/a2a/access", "manage-access", directory.ReadAccess, task.EitherSide},
	{"PUT", "/v1/identities/{agent}/a2a/access", "manage-access", directory.WriteAccess, task.EitherSide},

	{"GET", "/v1/discover", "discover-agents", directory.Discover, task.EitherSide},

	{"POST", "/v1/webhooks", "manage-webhooks", directory.WriteWebhooks, task.EitherSide},
	{"GET", "/v1/webhooks", "manage-webhooks", directory.ReadWebhooks, task.EitherSide},
	{"GET", "/v1/webhooks/{id}", "manage-webhooks", directory.ReadWebhooks, task.EitherSide},
	{"PATCH", "/v1/webhooks/{id}", "manage-webhooks", directory.WriteWebhooks, task.EitherSide},
	{"DELETE", "/v1/webhooks/{id}", "manage-webhooks", directory.WriteWebhooks, task.EitherSide},
	{"POST", "/v1/webhooks/{id}/rotate-secret", "manage-webhooks", directory.WriteWebhooks, task.EitherSide},
	{"GET", "/v1/webhooks/{id}/deliveries", "manage-webhooks", directory.ReadWebhooks, task.EitherSide},
	{"POST", "/v1/webhooks/{id}/deliveries/{delivery}/redeliver", "manage-webhooks", directory.WriteWebhooks, task.EitherSide},

	{"GET", "/v1/events", "list-events", directory.ReadTasks, task.EitherSide},
	{"GET", "/v1/events/wait", "wait-events", directory.ReadTasks, task.EitherSide},
	{"GET", "/v1/events/stream", "stream-events", directory.ReadTasks, task.EitherSide},
	{"POST", "/v1/organizations/{id}/replay", "replay-events", directory.WriteOrg, task.EitherSide},
}
