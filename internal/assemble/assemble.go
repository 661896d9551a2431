// Package assemble puts together, from a function's environment, the parts that several functions are made of. A part
// that isn't asked for is not linked, and a variable that it would need is not looked at.
package assemble

import (
	"context"
	"os"
	"time"

	"baton/internal/cursor"
	"baton/internal/directory"
	"baton/internal/httpapi"
	"baton/internal/lambdaenv"
	"baton/internal/store"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// remember is how long an instance trusts what it read of a key (contract section 1).
const remember = 30 * time.Second

// Database returns the DynamoDB client.
func Database() *dynamodb.Client {
	c := lambdaenv.AWS()
	return store.NewClient(dynamodb.Options{
		Region: c.Region, Credentials: c.Credentials, HTTPClient: c.HTTPClient, BaseEndpoint: c.BaseEndpoint,
	})
}

// Tasks returns the service on the table that TASKS_TABLE names.
func Tasks(db *dynamodb.Client) *task.Service {
	return task.NewService(store.NewTasks(db, lambdaenv.Var("TASKS_TABLE")), time.Now)
}

// Directory returns the service on the table that DIRECTORY_TABLE names, with the stamp secret of KEY_STAMP.
func Directory(db *dynamodb.Client) *directory.Service {
	return directory.NewService(store.NewDirectory(db, lambdaenv.Var("DIRECTORY_TABLE")), directory.Options{
		Mint: directory.NewMint(lambdaenv.Var("KEY_STAMP")), Remember: remember, Now: time.Now,
	})
}

// Cursors returns the sealer with the secrets of ID_SECRET.
func Cursors() *cursor.Sealer { return cursor.New(lambdaenv.Var("ID_SECRET"), time.Now) }

// Edge returns the edge of an endpoint; cursors is nil where it pages through nothing.
func Edge(people *directory.Service, cursors *cursor.Sealer) *httpapi.Edge {
	return httpapi.NewEdge(httpapi.Options{
		Directory: people, Cursors: cursors, Meter: meter, Log: os.Stdout, Now: time.Now,
	})
}

func meter(ctx context.Context) (context.Context, func() (read, write float64, calls int)) {
	ctx, usage := store.WithUsage(ctx)
	return ctx, usage.Total
}
