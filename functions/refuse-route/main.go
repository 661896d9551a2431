// Command refuse-route serves every route that no other function does.
package main

import (
	"os"
	"time"

	"baton/internal/httpapi"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	lambda.Start(httpapi.RefuseRoute(httpapi.NewEdge(httpapi.Options{Log: os.Stdout, Now: time.Now})))
}
