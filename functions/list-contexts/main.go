// Command list-contexts serves
//
//	GET /v1/a2a/contexts
//	GET /v1/identities/{agent}/a2a/contexts
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	db := assemble.Database()
	people := assemble.Directory(db)
	lambda.Start(httpapi.ListContexts(assemble.Edge(people, assemble.Cursors()), assemble.Tasks(db)))
}
