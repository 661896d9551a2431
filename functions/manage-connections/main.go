// Command manage-connections serves
//
//	POST /v1/a2a/connections
//	GET /v1/a2a/connections
//	POST /v1/a2a/connections/{id}/approve
//	POST /v1/a2a/connections/{id}/decline
//	POST /v1/a2a/connections/{id}/revoke
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	db := assemble.Database()
	people := assemble.Directory(db)
	lambda.Start(httpapi.ManageConnections(assemble.Edge(people, assemble.Cursors()), assemble.Asking(db, people)))
}
