// Command read-task serves
//
//	GET /v1/a2a/tasks/{id}
//	GET /v1/identities/{agent}/a2a/tasks/{id}
//	GET /v1/identities/{agent}/a2a/sent/tasks/{id}
//	GET /v1/agents/{callee}/tasks/{id}
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	db := assemble.Database()
	people := assemble.Directory(db)
	lambda.Start(httpapi.ReadTask(assemble.Edge(people, nil), people, assemble.Tasks(db)))
}
