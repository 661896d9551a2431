// Command manage-access serves
//
//	GET /v1/identities/{agent}/a2a/access
//	PUT /v1/identities/{agent}/a2a/access
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	people := assemble.Directory(assemble.Database())
	lambda.Start(httpapi.ManageAccess(assemble.Edge(people, nil), people))
}
