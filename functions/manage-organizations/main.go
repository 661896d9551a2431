// Command manage-organizations serves
//
//	POST /v1/organizations
//	GET /v1/organizations/{id}
//	PATCH /v1/organizations/{id}
//	POST /v1/organizations/{id}/suspend
//	POST /v1/organizations/{id}/resume
//	POST /v1/organizations/{id}/purge
package main

import (
	"baton/internal/assemble"
	"baton/internal/httpapi"
	"baton/internal/lambdaenv"
	"baton/internal/relay"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
)

func main() {
	buses := relay.NewMaker(eventbridge.NewFromConfig(lambdaenv.AWS()), nil).Archiving(lambdaenv.IntOr("ARCHIVE_DAYS", 0))
	people := assemble.Organizations(assemble.Database(), buses)
	lambda.Start(httpapi.ManageOrganizations(assemble.Edge(people, nil), people))
}
