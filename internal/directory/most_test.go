package directory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/localaws"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// few is a service whose organizations own little.
func (w *world) few() *directory.Service {
	return directory.NewService(w.store, directory.Options{
		Mint: w.mint, Remember: 30 * time.Second, Now: w.clock.Now, Stage: "test", Buses: noRoom{},
		Most: directory.Most{Identities: 3, Keys: 4},
	})
}

// owns sets a count as if the organization had made that many.
func (w *world) owns(partition, sort string, n int) {
	w.Helper()
	config, _ := localaws.Config(w.T)
	_, err := dynamodb.NewFromConfig(config).UpdateItem(w.Context(), &dynamodb.UpdateItemInput{
		TableName: &w.table, UpdateExpression: aws.String("set n = :n"),
		Key:                       map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: partition}, "s": &types.AttributeValueMemberS{Value: sort}},
		ExpressionAttributeValues: map[string]types.AttributeValue{":n": &types.AttributeValueMemberN{Value: fmt.Sprint(n)}},
	})
	if err != nil {
		w.Fatal(err)
	}
}

func TestAnOrganizationHasSoManyIdentities(t *testing.T) {
	w := newWorld(t)
	_, admin := w.organization("Few")
	few := w.few()
	make := func(handle string, once directory.Once) error {
		_, err := few.CreateIdentity(t.Context(), admin, directory.IdentityEdit{Handle: &handle, Once: once})
		return err
	}
	errs := atOnce(8, func(n int) error { return make(fmt.Sprint("few-", n), directory.Once(fmt.Sprint(n))) })
	made := -1
	refused := 0
	for n, err := range errs {
		switch {
		case err == nil:
			made = n
		case errors.Is(err, directory.ErrManyIdentities):
			refused++
		default:
			t.Fatal(err)
		}
	}
	if refused != 5 {
		t.Errorf("of 8 made at once %d are refused, want 5", refused)
	}
	// What is made already is not refused, and neither is another organization.
	if err := make(fmt.Sprint("few-", made), directory.Once(fmt.Sprint(made))); err != nil {
		t.Errorf("a repetition: %v", err)
	}
	if err := make(fmt.Sprint("few-", made), ""); !errors.Is(err, directory.ErrHandleTaken) {
		t.Errorf("a taken handle: %v", err)
	}
	_, other := w.organization("Others")
	if _, err := few.CreateIdentity(t.Context(), other, directory.IdentityEdit{Handle: new("others")}); err != nil {
		t.Errorf("another organization: %v", err)
	}
	// A deleted one is one less, once.
	for range 2 {
		few.DeleteIdentity(t.Context(), admin, fmt.Sprint("few-", made))
	}
	if err := make("few-anew", ""); err != nil {
		t.Errorf("in the place of a deleted one: %v", err)
	}
	if err := make("few-more", ""); !errors.Is(err, directory.ErrManyIdentities) {
		t.Errorf("one too many: %v", err)
	}
}

func atOnce(n int, f func(n int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for k := range n {
		all.Go(func() { errs[k] = f(k) })
	}
	all.Wait()
	return errs
}

// Handles stay taken, so taking them is bounded whatever becomes of the agents.
func TestAnOrganizationTakesSoManyHandles(t *testing.T) {
	w := newWorld(t)
	o, admin := w.organization("Grabbers")
	w.agent(admin, "grabber")
	w.owns("O#"+o.ID.String(), "N#handles", directory.MaxHandles-1)
	rename := func(to string) error {
		_, err := w.EditIdentity(t.Context(), admin, "grabber", directory.IdentityEdit{Handle: &to})
		return err
	}
	if err := rename("grabbed"); err != nil {
		t.Errorf("the last one: %v", err)
	}
	if err := rename("grabbed-too"); !errors.Is(err, directory.ErrManyHandles) {
		t.Errorf("one too many, by renaming: %v", err)
	}
	if _, err := w.CreateIdentity(t.Context(), admin, directory.IdentityEdit{Handle: new("another")}); !errors.Is(err, directory.ErrManyHandles) {
		t.Errorf("one too many, by making: %v", err)
	}
	if _, err := w.EditIdentity(t.Context(), admin, "grabber", directory.IdentityEdit{Description: new("goes on")}); err != nil {
		t.Errorf("an edit that takes none: %v", err)
	}
}

func TestAnOrganizationHasSoManyKeys(t *testing.T) {
	w := newWorld(t)
	_, admin := w.organization("Few keys") // whose first key counts
	few := w.few()
	make := func(r directory.NewKeyRequest) (directory.Key, error) {
		r.Role = directory.Viewer
		k, _, err := few.CreateKey(t.Context(), admin, r)
		return k, err
	}
	refused := 0
	for _, err := range atOnce(6, func(int) error {
		_, err := make(directory.NewKeyRequest{ExpiresAt: w.clock.Now().Add(time.Hour)})
		return err
	}) {
		if errors.Is(err, directory.ErrManyKeys) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if refused != 3 {
		t.Errorf("of 6 made at once %d are refused, want 3", refused)
	}
	// Expired ones are no longer counted, without a write of theirs.
	w.clock.Forward(2 * time.Hour)
	k, err := make(directory.NewKeyRequest{Once: "again"})
	if err != nil {
		t.Fatalf("when the others expired: %v", err)
	}
	for range 2 {
		if _, err := make(directory.NewKeyRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	w.faults.Reset()
	for range 5 {
		if _, err := make(directory.NewKeyRequest{}); !errors.Is(err, directory.ErrManyKeys) {
			t.Fatalf("one too many: %v", err)
		}
	}
	if n := w.faults.Count("Query"); n > 1 {
		t.Errorf("the keys are counted anew %d times in a minute", n)
	}
	if same, err := make(directory.NewKeyRequest{Once: "again"}); err != nil || same.KeyID != k.KeyID {
		t.Errorf("a repetition: %v", err)
	}
	// A revoked key is one less, once; one that had expired is none, since it isn't counted.
	for range 2 {
		if err := few.RevokeKey(t.Context(), admin, k.KeyID.String()); err != nil {
			t.Fatal(err)
		}
	}
	all, _, err := few.Keys(t.Context(), admin, task.ID{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range all {
		if !old.ExpiresAt.IsZero() {
			if err := few.RevokeKey(t.Context(), admin, old.KeyID.String()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := make(directory.NewKeyRequest{}); err != nil {
		t.Errorf("in the place of a revoked one: %v", err)
	}
	w.clock.Forward(2 * time.Minute)
	if _, err := make(directory.NewKeyRequest{}); !errors.Is(err, directory.ErrManyKeys) {
		t.Errorf("one too many: %v", err)
	}
}

func TestAnOrganizationHasSoManyOpenRequests(t *testing.T) {
	w := newWorld(t)
	o, admin := w.organization("Askers")
	asker, _ := w.agent(admin, "many-asker")
	_, other := w.organization("Asked")
	target, _ := w.agent(other, "asked")
	more, _ := w.agent(other, "asked-more")
	w.owns("Q#"+o.ID.String(), "pending", directory.MaxPending-1)
	ask := func(of directory.Identity) (directory.Connection, error) {
		c, _, err := w.Connect(t.Context(), asker, directory.Ref{ID: of.ID}, "")
		return c, err
	}
	c, err := ask(target)
	if err != nil {
		t.Fatalf("the last one: %v", err)
	}
	if _, err := ask(more); !errors.Is(err, directory.ErrManyRequests) {
		t.Errorf("one too many: %v", err)
	}
	if same, err := ask(target); err != nil || same.ID != c.ID {
		t.Errorf("a repetition: %v", err)
	}
	if _, _, err := w.Connect(t.Context(), more, directory.Ref{ID: asker.ID}, ""); err != nil {
		t.Errorf("the other side is not counted: %v", err)
	}
	third, _ := w.agent(other, "asked-third")
	for _, to := range []directory.ConnectionState{directory.Approved, directory.Revoked} { // decided once, over later
		if _, err := w.MoveConnection(t.Context(), target, c.ID.String(), to); err != nil {
			t.Fatal(err)
		}
	}
	if c, err = ask(third); err != nil {
		t.Errorf("in the place of a decided one: %v", err)
	}
	if _, err := ask(target); !errors.Is(err, directory.ErrManyRequests) {
		t.Errorf("one too many again: %v", err)
	}
	// What is erased with the organization that was asked is one less of the one that asked.
	if err := w.store.EraseOrganization(context.WithoutCancel(t.Context()), other.Organization); err != nil {
		t.Fatal(err)
	}
	_, others := w.organization("Asked later")
	fourth, _ := w.agent(others, "asked-fourth")
	if _, err := ask(fourth); err != nil {
		t.Errorf("in the place of an erased one: %v", err)
	}
	if err := w.store.EraseOrganization(t.Context(), o.ID); err != nil {
		t.Fatal(err)
	}
	if all := w.everything(); strings.Contains(all, "N#keys\"},\"p\":{\"Value\":\"O#"+o.ID.String()) || strings.Contains(all, "Q#"+o.ID.String()) {
		t.Error("counts of a purged organization are left")
	}
}

// An agent's key and an organization's, made at the same instant with one id, are one key.
func TestOneIDMakesOneKeyOfBothKinds(t *testing.T) {
	w := newWorld(t)
	_, admin := w.organization("Both kinds")
	w.agent(admin, "both")
	before, _, err := w.Keys(t.Context(), admin, task.ID{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var together sync.WaitGroup
	together.Add(2)
	w.faults.On("TransactWriteItems").Times(2).Hold(func() { together.Done(); together.Wait() })
	var keys [2]directory.Key
	var secrets [2]string
	for _, err := range atOnce(2, func(n int) (err error) {
		r := [2]directory.NewKeyRequest{{Identity: "both", Once: "one"}, {Role: directory.Viewer, Once: "one"}}[n]
		keys[n], secrets[n], err = w.CreateKey(t.Context(), admin, r)
		return err
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	after, _, err := w.Keys(t.Context(), admin, task.ID{}, 100)
	if err != nil || len(after) != len(before)+1 {
		t.Errorf("%d keys were made: %v", len(after)-len(before), err)
	}
	if keys[0].KeyID != keys[1].KeyID || secrets[0] != secrets[1] || w.in(secrets[0]).KeyID != keys[0].KeyID {
		t.Errorf("two answers: %v and %v", keys[0].Principal, keys[1].Principal)
	}
}
