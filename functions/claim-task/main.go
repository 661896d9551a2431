// Command claim-task serves
//
//	POST /v1/a2a/tasks/claim
//	POST /v1/identities/{agent}/a2a/tasks/claim
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	db := assemble.Database()
	people := assemble.Directory(db)
	lambda.Start(httpapi.ClaimTask(assemble.Edge(people, nil), assemble.Tasks(db)))
}
