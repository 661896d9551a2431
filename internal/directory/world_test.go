package directory_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/localaws"
	"baton/internal/store"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// world is a directory on the real engine, with a clock that can be put forward.
type world struct {
	*testing.T
	*directory.Service
	store    *store.Directory
	table    string
	faults   *localaws.Faults
	mint     directory.Mint
	clock    *localaws.Clock
	operator directory.Principal
}

// noRoom is an account that has no room for another bus.
type noRoom struct{}

func (noRoom) Create(_ context.Context, o directory.Organization) directory.Bus {
	return directory.Bus{Name: o.Bus.Name, Status: directory.BusPending}
}

func (noRoom) MakeBus(context.Context, task.ID) error { return directory.ErrNoBus }

func newWorld(t *testing.T) *world {
	t.Helper()
	config, faults := localaws.Config(t)
	w := &world{
		T: t, faults: faults, clock: &localaws.Clock{}, mint: directory.NewMint("stamp"),
		table:    localaws.NewTable(t, "DirectoryTable"),
		operator: directory.Principal{Kind: directory.Operator},
	}
	w.store = store.NewDirectory(dynamodb.NewFromConfig(config), w.table)
	w.Service = w.instance()
	return w
}

// instance is another instance of the service on the same tables, which remembers nothing.
func (w *world) instance() *directory.Service {
	return directory.NewService(w.store, directory.Options{
		Mint: w.mint, Remember: 30 * time.Second, Now: w.clock.Now, Stage: "test", Buses: noRoom{},
	})
}

// everything is all that the table holds, as text.
func (w *world) everything() string {
	w.Helper()
	config, _ := localaws.Config(w.T)
	pages := dynamodb.NewScanPaginator(dynamodb.NewFromConfig(config), &dynamodb.ScanInput{TableName: &w.table})
	var all strings.Builder
	for pages.HasMorePages() {
		page, err := pages.NextPage(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		for _, item := range page.Items {
			text, err := json.Marshal(item)
			if err != nil {
				w.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}

// organization makes one and returns its admin's secret and principal.
func (w *world) organization(name string) (directory.NewOrganization, directory.Principal) {
	w.Helper()
	o, err := w.CreateOrganization(w.Context(), w.operator, directory.OrganizationEdit{Name: &name})
	if err != nil {
		w.Fatal(err)
	}
	return o, w.in(o.Secret)
}

// in is the principal of a good secret.
func (w *world) in(secret string) directory.Principal {
	w.Helper()
	p, err := w.Authenticate(w.Context(), secret)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// agent makes an identity with a key and returns both.
func (w *world) agent(admin directory.Principal, handle string) (directory.Identity, directory.Principal) {
	w.Helper()
	i, err := w.CreateIdentity(w.Context(), admin, directory.IdentityEdit{Handle: &handle})
	if err != nil {
		w.Fatal(err)
	}
	return i, w.in(w.key(admin, directory.NewKeyRequest{Identity: handle}))
}

func (w *world) key(admin directory.Principal, r directory.NewKeyRequest) (secret string) {
	w.Helper()
	_, secret, err := w.CreateKey(w.Context(), admin, r)
	if err != nil {
		w.Fatal(err)
	}
	return secret
}
