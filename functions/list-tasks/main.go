// Command list-tasks serves
//
//	GET /v1/a2a/tasks/search
//	GET /v1/identities/{agent}/a2a/tasks
//	GET /v1/identities/{agent}/a2a/sent/tasks
//	GET /v1/a2a/tasks
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	db := assemble.Database()
	people := assemble.Directory(db)
	lambda.Start(httpapi.ListTasks(assemble.Edge(people, assemble.Cursors()), assemble.Tasks(db)))
}
