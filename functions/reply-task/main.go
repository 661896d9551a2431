// Command reply-task serves
//
//	POST /v1/a2a/tasks/{id}/reply
//	POST /v1/identities/{agent}/a2a/tasks/{id}/reply
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	db := assemble.Database()
	people := assemble.Directory(db)
	lambda.Start(httpapi.ReplyTask(assemble.Edge(people, nil), assemble.Tasks(db)))
}
