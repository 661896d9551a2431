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
	people := assemble.Directory(assemble.Database())
	lambda.Start(httpapi.ManageConnections(assemble.Edge(people, assemble.Cursors()), people))
}
