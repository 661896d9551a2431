// Package assemble puts together, from a function's environment, the parts that several functions are made of. A part
// that isn't asked for is not linked, and a variable that it would need is not looked at.
package assemble

import (
	"context"
	"log"
	"os"
	"time"

	"baton/internal/cursor"
	"baton/internal/directory"
	"baton/internal/httpapi"
	"baton/internal/lambdaenv"
	"baton/internal/store"
	"baton/internal/task"
	"baton/internal/webhook"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Database returns the DynamoDB client.
func Database() *dynamodb.Client {
	c := lambdaenv.AWS()
	return store.NewClient(dynamodb.Options{
		Region: c.Region, Credentials: c.Credentials, HTTPClient: c.HTTPClient, BaseEndpoint: c.BaseEndpoint, APIOptions: c.APIOptions,
	})
}

// Tasks returns the service on the table that TASKS_TABLE names.
func Tasks(db *dynamodb.Client) *task.Service {
	return task.NewService(store.NewTasks(db, lambdaenv.Var("TASKS_TABLE")), time.Now)
}

// Logs returns the organizations' logs in the table that EVENTS_TABLE names, whose longer texts are in TASKS_TABLE.
func Logs(db *dynamodb.Client) *store.Log {
	return store.NewLog(db, lambdaenv.Var("EVENTS_TABLE"), store.NewTasks(db, lambdaenv.Var("TASKS_TABLE")), time.Now)
}

// Events returns the reader of these logs.
func Events(db *dynamodb.Client) *task.Events { return task.NewEvents(Logs(db), time.Now) }

// Directory returns the service on the table that DIRECTORY_TABLE names, with the stamp secret of KEY_STAMP, which trusts
// what it read of a key for REVOKED_KEY_SECONDS.
func Directory(db *dynamodb.Client) *directory.Service { return service(db, directory.Options{}) }

// Organizations is Directory for a function that makes organizations: their buses are named after STAGE.
func Organizations(db *dynamodb.Client, buses directory.Buses) *directory.Service {
	return service(db, directory.Options{Stage: lambdaenv.Var("STAGE"), Buses: buses})
}

func service(db *dynamodb.Client, o directory.Options) *directory.Service {
	o.Mint = directory.NewMint(lambdaenv.Var("KEY_STAMP"))
	o.Remember = time.Duration(lambdaenv.Int("REVOKED_KEY_SECONDS")) * time.Second
	o.Now = time.Now
	o.Most = directory.Most{
		Identities: lambdaenv.IntOr("IDENTITIES_AT_MOST", directory.DefaultMost.Identities),
		Keys:       lambdaenv.IntOr("KEYS_AT_MOST", directory.DefaultMost.Keys),
	}
	return directory.NewService(store.NewDirectory(db, lambdaenv.Var("DIRECTORY_TABLE")), o)
}

// Gate returns what admits sends, with the throttles of SENDS_PER_MINUTE and SENDS_PER_SECOND and the quota of
// OPEN_TASKS.
func Gate(db *dynamodb.Client, people *directory.Service) directory.Gate {
	return directory.Gate{Service: people, Limiter: directory.NewLimiter(
		store.NewDirectory(db, lambdaenv.Var("DIRECTORY_TABLE")),
		store.NewTasks(db, lambdaenv.Var("TASKS_TABLE")),
		directory.Limits{
			SendsPerMinute:  lambdaenv.Int("SENDS_PER_MINUTE"),
			SendsPerSecond:  lambdaenv.Int("SENDS_PER_SECOND"),
			OpenTasksAtMost: lambdaenv.Int("OPEN_TASKS"),
		},
		time.Now,
	)}
}

// Asking returns what takes requests for connections, with the throttle of SENDS_PER_MINUTE.
func Asking(db *dynamodb.Client, people *directory.Service) directory.Gate {
	return directory.Gate{Service: people, Limiter: directory.NewLimiter(
		store.NewDirectory(db, lambdaenv.Var("DIRECTORY_TABLE")), nil,
		directory.Limits{SendsPerMinute: lambdaenv.Int("SENDS_PER_MINUTE")}, time.Now,
	)}
}

// Receivers returns which addresses webhooks may have: public ones, and those of LOCAL_RECEIVERS, which is empty but on a
// developer's machine.
func Receivers() webhook.Addresses {
	local, err := webhook.ParseLocal(os.Getenv("LOCAL_RECEIVERS"))
	if err != nil {
		log.Fatal(err)
	}
	return webhook.Addresses{Local: local}
}

// Deliveries returns the deliveries in the table that EVENTS_TABLE names.
func Deliveries(db *dynamodb.Client) *store.Deliveries {
	return store.NewDeliveries(db, lambdaenv.Var("EVENTS_TABLE"), Logs(db), time.Now)
}

// Cursors returns the sealer with the secrets of CURSOR_SECRETS.
func Cursors() *cursor.Sealer { return cursor.New(lambdaenv.Var("CURSOR_SECRETS"), time.Now) }

// Edge returns the edge of an endpoint; cursors is nil where it pages through nothing.
func Edge(people *directory.Service, cursors *cursor.Sealer) *httpapi.Edge {
	return httpapi.NewEdge(httpapi.Options{
		Directory: people, Cursors: cursors, Meter: meter, Log: os.Stdout, Now: time.Now,
		Buffered: os.Getenv("RESPONSE_TRANSFER_MODE") != "RESPONSE_STREAM",
	})
}

func meter(ctx context.Context) (context.Context, func() (read, write float64, calls int)) {
	ctx, usage := store.WithUsage(ctx)
	return ctx, usage.Total
}
