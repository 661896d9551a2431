// Command send-task serves
//
//	POST /v1/a2a/tasks
//	POST /v1/identities/{agent}/a2a/tasks
//	POST /v1/identities/{agent}/a2a/sent/tasks
//	POST /v1/agents/{callee}/tasks
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	db := assemble.Database()
	people := assemble.Directory(db)
	lambda.Start(httpapi.SendTask(assemble.Edge(people, nil), assemble.Gate(db, people), assemble.Tasks(db)))
}
