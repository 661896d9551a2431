// Command add-message serves
//
//	POST /v1/a2a/tasks/{id}/messages
//	POST /v1/identities/{agent}/a2a/sent/tasks/{id}/messages
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	db := assemble.Database()
	people := assemble.Directory(db)
	lambda.Start(httpapi.AddMessage(assemble.Edge(people, nil), assemble.Tasks(db)))
}
