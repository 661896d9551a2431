// Command export-organization serves
//
//	POST /v1/organizations/{id}/export
package main

import (
	"baton/internal/assemble"
	"baton/internal/directory"
	"baton/internal/httpapi"
	"baton/internal/lambdaenv"
	"baton/internal/store"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	db := assemble.Database()
	people := assemble.Directory(db)
	stored := store.NewDirectory(db, lambdaenv.Var("DIRECTORY_TABLE"))
	exporter := directory.NewExporter(
		stored,
		store.NewTasks(db, lambdaenv.Var("TASKS_TABLE")),
		assemble.Logs(db),
		assemble.Deliveries(db).Of(stored),
	)
	lambda.Start(httpapi.ExportOrganization(assemble.Edge(people, assemble.Cursors()), people, exporter))
}
