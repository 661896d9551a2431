// Command set-task-state serves
//
//	PATCH /v1/a2a/tasks/{id}
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	db := assemble.Database()
	people := assemble.Directory(db)
	lambda.Start(httpapi.SetTaskState(assemble.Edge(people, nil), assemble.Tasks(db)))
}
