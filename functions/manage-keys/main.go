// Command manage-keys serves
//
//	POST /v1/keys
//	GET /v1/keys
//	DELETE /v1/keys/{id}
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	people := assemble.Directory(assemble.Database())
	lambda.Start(httpapi.ManageKeys(assemble.Edge(people, assemble.Cursors()), people))
}
