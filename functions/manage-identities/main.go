// Command manage-identities serves
//
//	POST /v1/identities
//	GET /v1/identities
//	GET /v1/identities/{agent}
//	PATCH /v1/identities/{agent}
//	DELETE /v1/identities/{agent}
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	people := assemble.Directory(assemble.Database())
	lambda.Start(httpapi.ManageIdentities(assemble.Edge(people, assemble.Cursors()), people))
}
