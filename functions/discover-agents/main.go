// Command discover-agents serves
//
//	GET /v1/discover
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	people := assemble.Directory(assemble.Database())
	lambda.Start(httpapi.DiscoverAgents(assemble.Edge(people, assemble.Cursors()), people))
}
