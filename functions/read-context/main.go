// Command read-context serves
//
//	GET /v1/a2a/contexts/{id}
//	GET /v1/identities/{agent}/a2a/contexts/{id}
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	db := assemble.Database()
	people := assemble.Directory(db)
	lambda.Start(httpapi.ReadContext(assemble.Edge(people, nil), assemble.Tasks(db)))
}
