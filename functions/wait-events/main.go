// Command wait-events serves
//
//	GET /v1/events/wait
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	db := assemble.Database()
	lambda.Start(httpapi.WaitEvents(assemble.Edge(assemble.Directory(db), assemble.Cursors()), assemble.Events(db)))
}
