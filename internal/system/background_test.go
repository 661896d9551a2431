package system

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"baton/client"
	"baton/internal/demo"
	"baton/internal/directory"
	"baton/internal/localaws"
	"baton/internal/localstack"
	"baton/internal/store"
	"baton/internal/task"
	"baton/internal/webhook"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	ebtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// What goes on in the background has its minute's schedule. These tests start it themselves, and make it believe that
// the time has come.

// behind is the stack from behind, with all rights.
type behind struct {
	*testing.T
	server    localstack.Server
	outputs   map[string]string
	db        *dynamodb.Client
	buses     *eventbridge.Client
	queues    *sqs.Client
	directory *store.Directory
}

func behindOf(t *testing.T) behind {
	t.Helper()
	stack := localaws.Stack(t)
	server, err := stack.Server()
	if err != nil {
		t.Fatal(err)
	}
	db := dynamodb.NewFromConfig(server.Config())
	return behind{t, server, stack.Outputs, db, eventbridge.NewFromConfig(server.Config()), sqs.NewFromConfig(server.Config()),
		store.NewDirectory(db, stack.Outputs["DirectoryTable"])}
}

// start runs a scheduled function now.
func (b behind) start(function string) {
	b.Helper()
	event, err := os.ReadFile(tree(b.T).Path("events", function+".json"))
	if err == nil {
		err = b.server.Invoke(b.Context(), function, event)
	}
	if err != nil {
		b.Error(err)
	}
}

func (b behind) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// sweepUntil sweeps, with the jobs about these as if they were minutes old, until done or for a minute.
func (b behind) sweepUntil(done func() bool, about ...string) {
	b.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); {
		if time.Now().After(deadline) {
			b.Fatal("a minute of sweeps was not enough")
		}
		jobs, err := b.directory.Jobs(b.Context())
		b.must(err)
		for _, j := range jobs {
			if now := j; slices.Contains(about, j.About.String()) && time.Since(j.CreatedAt) < time.Minute {
				now.CreatedAt = now.CreatedAt.Add(-2 * time.Minute)
				now.Version++
				if err := b.directory.SaveJob(b.Context(), j, now); err != nil && !errors.Is(err, directory.ErrStale) {
					b.Fatal(err)
				}
			}
		}
		b.start("sweep-directory")
	}
}

// change edits an organization as no one can by the API.
func (b behind) change(id string, edit func(*directory.Organization), jobs ...directory.JobKind) {
	b.Helper()
	parsed, _ := task.ParseID(id)
	o, err := b.directory.Organization(b.Context(), parsed)
	b.must(err)
	now := o
	edit(&now)
	now.Version++
	var follow []directory.Job
	for _, kind := range jobs {
		follow = append(follow, directory.Job{Kind: kind, About: o.ID, CreatedAt: time.Now().UTC().Truncate(time.Millisecond)})
	}
	b.must(b.directory.SaveOrganization(b.Context(), o, now, follow...))
}

// loseBus deletes an organization's bus behind the service's back.
func (b behind) loseBus(o demo.Organization) {
	b.Helper()
	_, err := b.buses.DeleteEventBus(b.Context(), &eventbridge.DeleteEventBusInput{Name: &o.EventBus.Name})
	b.must(err)
}

// organization makes one for a test alone.
func organization(t *testing.T, o client.NewOrganization) demo.Organization {
	t.Helper()
	w := world(t)
	options := []client.Option{client.WithRetries(0), client.WithHTTPClient(wire)}
	o.Name = "Made for " + t.Name()
	made, err := client.New(w.URL, localaws.Stack(t).OperatorKey, options...).CreateOrganization(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return demo.Organization{Organization: made, Admin: client.New(w.URL, made.Key.Secret, options...)}
}

// incompressible is a text of n characters.
func incompressible(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ."
	text := make([]byte, n)
	for i := range text {
		text[i] = letters[rand.IntN(len(letters))]
	}
	return string(text)
}

// An organization goes with all that it had, for the other side of its tasks too, and after it was read out.
func TestAnOrganizationIsPurged(t *testing.T) {
	t.Parallel()
	b := behindOf(t)
	w, doomed := world(t), organization(t, client.NewOrganization{AWSAccountID: "111122223333"})
	one, two := agent(t, doomed, true), agent(t, doomed, false)
	friend := agent(t, w.Bank, false)
	ctx := t.Context()
	asked, err := one.Client.Connect(ctx, friend.Handle, "Friends?")
	b.must(err)
	_, err = friend.Client.ApproveConnection(ctx, asked.ID)
	b.must(err)
	_, err = two.Client.Connect(ctx, friend.Handle, "Me too?")
	b.must(err)
	_, err = one.Client.SetAccess(ctx, one.Handle, []client.Rule{{Effect: "allow", OrganizationID: w.Bank.ID}})
	b.must(err)
	if a := call(t, doomed.Key.Secret, "POST", "/v1/webhooks", map[string]any{"url": newReceiver(t).url, "events": []string{"a2a.task.created"}}); a.status != http.StatusCreated {
		t.Fatalf("%d %s", a.status, a.body)
	}
	sent, received := newTask(t, one, friend, incompressible(3000)), newTask(t, friend, one, "And you?")
	newTask(t, one, two, "Among us.")
	if got := events(t, doomed.ID, received.ID, 1); len(got) != 1 {
		t.Fatalf("events %v", got)
	}
	_, err = b.buses.PutRule(ctx, &eventbridge.PutRuleInput{Name: aws.String("theirs"), EventBusName: &doomed.EventBus.Name, EventPattern: aws.String(`{"source":["baton.a2a"]}`)})
	b.must(err)
	_, err = b.buses.PutTargets(ctx, &eventbridge.PutTargetsInput{Rule: aws.String("theirs"), EventBusName: &doomed.EventBus.Name, Targets: []ebtypes.Target{
		{Id: aws.String("queue"), Arn: aws.String("arn:aws:sqs:us-east-1:111122223333:theirs")},
	}})
	b.must(err)

	path := "/v1/organizations/" + doomed.ID
	export := call(t, doomed.Key.Secret, "POST", path+"/export", nil)
	for _, has := range []string{one.Handle, two.Handle, asked.ID, sent.ID, received.ID, "And you?", "a2a.task.created"} {
		if !strings.Contains(string(export.body), has) {
			t.Errorf("the export lacks %q: %d %.500s", has, export.status, export.body)
		}
	}
	if a := call(t, doomed.Key.Secret, "POST", path+"/purge", nil); a.status >= 300 {
		t.Fatalf("purge: %d %s", a.status, a.body)
	}
	operator := localaws.Stack(t).OperatorKey
	b.sweepUntil(func() bool { return call(t, operator, "GET", path, nil).status == http.StatusNotFound }, doomed.ID, one.ID, two.ID)
	for _, id := range []string{sent.ID, received.ID} {
		if a := call(t, friend.Key, "GET", "/v1/a2a/tasks/"+id, nil); a.status != http.StatusNotFound {
			t.Errorf("a task with it: %d %.300s", a.status, a.body)
		}
	}
	if _, err := b.buses.DescribeEventBus(ctx, &eventbridge.DescribeEventBusInput{Name: &doomed.EventBus.Name}); err == nil {
		t.Error("its bus is still there")
	}
}

// Who is suspended is nobody's worker until it is resumed.
func TestASuspendedOrganizationWorksForNobody(t *testing.T) {
	t.Parallel()
	b := behindOf(t)
	w, o := world(t), organization(t, client.NewOrganization{})
	listed, hidden := agent(t, o, true), agent(t, o, false)
	from := agent(t, w.Shop, false)
	operator := localaws.Stack(t).OperatorKey
	found := func() bool {
		for f, err := range from.Client.Discover(t.Context(), listed.Handle) {
			if err != nil {
				t.Fatal(err)
			}
			if f.Handle == listed.Handle {
				return true
			}
		}
		return false
	}
	over := func() bool {
		jobs, err := b.directory.Jobs(t.Context())
		b.must(err)
		return !slices.ContainsFunc(jobs, func(j directory.Job) bool { return j.About.String() == o.ID })
	}
	for _, how := range []string{"suspend", "resume"} {
		if a := call(t, operator, "POST", "/v1/organizations/"+o.ID+"/"+how, nil); a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", how, a.status, a.body)
		}
		b.sweepUntil(over, o.ID)
		if found() != (how == "resume") {
			t.Errorf("after %s it is discovered: %v", how, found())
		}
	}
	newTask(t, from, listed, "Back again?")
	newTask(t, listed, hidden, "Are we?")
}

// Buses for which there was no room are made, and a made one gets the rights of its organization's account.
func TestBusesAreMadeLater(t *testing.T) {
	t.Parallel()
	b := behindOf(t)
	there, missing := organization(t, client.NewOrganization{AWSAccountID: "111122223333"}), organization(t, client.NewOrganization{})
	b.loseBus(missing)
	for _, o := range []demo.Organization{there, missing} {
		b.change(o.ID, func(o *directory.Organization) { o.Bus = directory.Bus{Name: o.Bus.Name, Status: directory.BusPending} }, directory.MakeBus)
	}
	b.sweepUntil(func() bool {
		for _, o := range []demo.Organization{there, missing} {
			if a := call(t, o.Key.Secret, "GET", "/v1/organizations/"+o.ID, nil); !strings.Contains(string(a.body), `"active"`) {
				return false
			}
		}
		return true
	})
	for _, account := range []string{"444455556666", ""} { // the owner says who may put rules on it
		if a := call(t, there.Key.Secret, "PATCH", "/v1/organizations/"+there.ID, map[string]any{"aws_account_id": account}); a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

// A bus that somebody deleted is noticed, made again, and sent what it missed.
func TestALostBusIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := behindOf(t)
	tasks := store.NewTasks(b.db, b.outputs["TasksTable"])
	log := store.NewLog(b.db, b.outputs["EventsTable"], tasks, time.Now)
	from := agent(t, world(t).Shop, false)
	for _, account := range []string{"", "111122223333"} {
		o := organization(t, client.NewOrganization{AWSAccountID: account})
		to := agent(t, o, true)
		first := newTask(t, from, to, "While it is there.")
		events(t, o.ID, first.ID, 1)
		b.loseBus(o)
		second := newTask(t, from, to, incompressible(3000))
		events(t, o.ID, second.ID, 1)
		b.change(o.ID, func(o *directory.Organization) { o.Bus = directory.Bus{Name: o.Bus.Name, Status: directory.BusPending} })
		id, _ := task.ParseID(o.ID)
		for deadline := time.Now().Add(time.Minute); ; {
			b.start("check-buses")
			b.start("unpark-buses")
			head, err := log.Head(t.Context(), id)
			b.must(err)
			_, err = b.buses.DescribeEventBus(t.Context(), &eventbridge.DescribeEventBusInput{Name: &o.EventBus.Name})
			if err == nil && head.ParkedFrom == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("parked from %d, bus %v", head.ParkedFrom, err)
			}
		}
	}
}

// A change that can't be told goes to the queue of failures, and stops nothing.
func TestAChangeThatCanNotBeTold(t *testing.T) {
	t.Parallel()
	b := behindOf(t)
	id := task.NewID()
	_, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(b.outputs["TasksTable"]), Item: map[string]types.AttributeValue{
		"p": &types.AttributeValueMemberB{Value: append([]byte("T"), id[:]...)},
		"s": &types.AttributeValueMemberS{Value: "C#000001"},
		"e": &types.AttributeValueMemberB{Value: []byte{255}},
	}})
	b.must(err)
	url := b.outputs["FailedChangesQueueUrl"]
	for deadline := time.Now().Add(time.Minute); ; {
		got, err := b.queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 2})
		b.must(err)
		for _, m := range got.Messages {
			_, err := b.queues.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: m.ReceiptHandle})
			b.must(err)
			if strings.Contains(*m.Body, id.String()) {
				return
			}
			t.Errorf("also failed: %s", *m.Body)
		}
		if time.Now().After(deadline) {
			t.Fatal("it is not among the failures")
		}
	}
}

// A text that no log entry and no single item holds reaches all who are told of it.
func TestLongTextsAreTold(t *testing.T) {
	t.Parallel()
	w := world(t)
	from, to := agent(t, w.Shop, false), agent(t, w.Shop, true)
	text := incompressible(3000)
	sent := newTask(t, from, to, text)
	part := map[string]any{"text": incompressible(250_000)}
	huge := call(t, from.Key, "POST", "/v1/a2a/tasks", map[string]any{"target_handle": to.Handle, "parts": []any{part, part, map[string]any{"text": incompressible(200_000)}}})
	if huge.status != http.StatusCreated {
		t.Fatalf("%d %.300s", huge.status, huge.body)
	}
	second, _ := huge.task(t)
	for _, id := range []string{sent.ID, second.ID} {
		if got := events(t, w.Shop.ID, id, 1); len(got) != 1 {
			t.Errorf("events %v", got)
		}
	}
	const since = "since=2020-01-01T00:00:00Z"
	for _, path := range []string{"/v1/events?" + since, "/v1/events/wait?timeout_ms=20000&" + since, "/v1/events/stream?" + since} {
		if a := call(t, to.Key, "GET", path, nil); a.status != http.StatusOK || !strings.Contains(string(a.body), text) {
			t.Errorf("%s: %d %.300s", path, a.status, a.body)
		}
	}
	var entry event
	for _, line := range strings.Split(string(call(t, to.Key, "GET", "/v1/events?limit=1&"+since, nil).body), ",") {
		fmt.Sscanf(strings.TrimSpace(line), `"sequence":%d`, &entry.Sequence)
	}
	span := map[string]int64{"from_sequence": entry.Sequence, "to_sequence": entry.Sequence}
	if a := call(t, w.Shop.Key.Secret, "POST", "/v1/organizations/"+w.Shop.ID+"/replay", span); a.status != http.StatusOK {
		t.Errorf("replay: %d %s", a.status, a.body)
	}
	for _, path := range []string{"/v1/a2a/tasks/search?context_id=" + sent.ContextID, "/v1/a2a/messages?task_id=" + sent.ID} {
		if a := call(t, to.Key, "GET", path, nil); a.status != http.StatusOK || !strings.Contains(string(a.body), sent.ID) {
			t.Errorf("%s: %d %.300s", path, a.status, a.body)
		}
	}
}

// The ids of messages outgrow a task's head, and a worker that polls does not notice.
func TestClaimOfATaskWithManyMessageIDs(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent := newTask(t, from, to, "And more to come.")
	for i := range 40 {
		if _, err := from.Client.Add(t.Context(), sent.ID, client.Draft{Message: "More.", MessageID: fmt.Sprint("more-", i)}); err != nil {
			t.Fatal(err)
		}
	}
	claims, err := to.Client.Claim(t.Context(), client.ClaimOptions{Wait: 5 * time.Second})
	if err != nil || len(claims) != 1 || claims[0].Task.ID != sent.ID {
		t.Fatalf("%+v, %v", claims, err)
	}
}

// What an organization is told of its own directory.
func TestListsOfTheDirectory(t *testing.T) {
	t.Parallel()
	w := world(t)
	a := agent(t, w.Shop, true)
	for path, has := range map[string]string{"/v1/identities?limit=100": a.Handle, "/v1/keys?limit=100": a.ID} {
		found := false
		for cursor := ""; !found; {
			got := call(t, w.Shop.Key.Secret, "GET", path+cursor, nil)
			found = strings.Contains(string(got.body), has)
			_, rest, _ := strings.Cut(string(got.body), `"next_cursor":"`)
			next, _, more := strings.Cut(rest, `"`)
			if !more {
				break
			}
			cursor = "&cursor=" + next
		}
		if !found {
			t.Errorf("%s does not list %s", path, has)
		}
	}
	// A rule of a listed agent is told in what others discover.
	if rules, err := a.Client.SetAccess(context.Background(), a.Handle, []client.Rule{{Effect: "deny", OrganizationID: w.Bank.ID}}); err != nil || len(rules) != 1 {
		t.Errorf("%+v, %v", rules, err)
	}
}

// Webhooks from behind: a text that the log does not hold, two deliveries at once to a receiver that is gone, which tells
// of that once, and a try after hours.
func TestDeliveriesFromBehind(t *testing.T) {
	t.Parallel()
	b := behindOf(t)
	o := organization(t, client.NewOrganization{})
	worker, from := agent(t, o, true), agent(t, world(t).Shop, false)
	takes, fails, gone := newReceiver(t), newReceiver(t), newReceiver(t)
	fails.says(says(500))
	both := make(chan struct{})
	var arrived atomic.Int32
	gone.says(func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both:
		case <-r.Context().Done():
		}
		says(410)(w, r)
	})
	subscribe(t, o, worker, takes, client.EventCreated)
	failing := subscribe(t, o, worker, fails, client.EventCreated)
	hook := subscribe(t, o, worker, gone, client.EventCreated)
	text := incompressible(3000)
	newTask(t, from, worker, "Short enough.")
	newTask(t, from, worker, text)
	if got := takes.all(t, 2); !strings.Contains(string(got[0].body)+string(got[1].body), text) {
		t.Error("the long text was not delivered")
	}
	await(t, "the end of the hook that is gone", func() bool {
		h, err := o.Admin.Webhook(t.Context(), hook.ID)
		return err == nil && !h.Enabled
	})
	// Both failed twice, and would be tried again in five minutes; one is made to wait for hours that are over.
	await(t, "failures", func() bool {
		all := deliveries(t, o, failing)
		return len(all) == 2 && all[0].Tries == 2 && all[1].Tries == 2
	})
	organizationID, _ := task.ParseID(o.ID)
	hookID, _ := task.ParseID(failing.ID)
	id, _ := task.ParseID(deliveries(t, o, failing)[0].ID)
	waiting := store.NewDeliveries(b.db, b.outputs["EventsTable"], nil, time.Now)
	before := len(fails.all(t, 4))
	await(t, "the try after the pause", func() bool {
		d, err := waiting.Delivery(t.Context(), hookID, id)
		b.must(err)
		d.Status, d.Due, d.UpdatedAt = webhook.Pending, time.Now(), time.Now().Add(-2*time.Hour)
		if err := waiting.SaveDelivery(t.Context(), organizationID, d); err != nil && !errors.Is(err, webhook.ErrStale) {
			b.Fatal(err)
		}
		// A sweep that knows of none before it looks back an hour.
		_, err = b.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(b.outputs["EventsTable"]), Key: map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberB{Value: []byte("S")}, "s": &types.AttributeValueMemberN{Value: "0"},
		}})
		b.must(err)
		b.start("sweep-webhooks")
		return len(fails.all(t, 0)) > before
	})
}

// A worker's open tasks are counted when it has got many from one instance of the function.
func TestManySendsAreCounted(t *testing.T) {
	t.Parallel()
	b := behindOf(t)
	w := world(t)
	to := agent(t, w.Bank, true)
	worker, _ := task.ParseID(to.ID)
	for requester := 0; requester < 5; requester++ { // each may send 300 a minute
		from := agent(t, w.Shop, false)
		for range 20 {
			for range 10 {
				newTask(t, from, to, "One of many.")
			}
			if counted, err := b.directory.CountReceived(t.Context(), worker, 0); err != nil {
				t.Fatal(err)
			} else if counted.Open > 0 {
				return
			}
		}
	}
	t.Error("a thousand open tasks were not counted")
}

// So are an agent's requests for connections.
func TestManyRequestsAreCounted(t *testing.T) {
	t.Parallel()
	b := behindOf(t)
	from, to := agent(t, world(t).Shop, false), agent(t, world(t).Bank, false)
	requester, _ := task.ParseID(from.ID)
	for range 25 {
		for range 10 {
			if _, err := from.Client.Connect(t.Context(), to.Handle, "Please?"); err != nil {
				t.Fatal(err)
			}
		}
		minute := time.Now().UTC().Truncate(time.Minute)
		if n, err := b.directory.CountSends(t.Context(), directory.ByRequester, requester, minute, time.Minute, 0); err != nil {
			t.Fatal(err)
		} else if n > 0 {
			return
		}
	}
	t.Error("250 requests were not counted")
}
