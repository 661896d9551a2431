package rehearsal

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"baton/client"
	"baton/internal/demo"
	"baton/internal/localstack"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Run plays it on a stack that is for it alone, and tells out what was seen. The error says what is not as it should be.
func Run(ctx context.Context, tree localstack.Tree, stack localstack.Stack, out io.Writer) error {
	server, err := stack.Server()
	if err != nil {
		return err
	}
	db := dynamodb.NewFromConfig(server.Config())
	w, err := demo.Make(ctx, stack)
	if err != nil {
		return err
	}
	told, err := talk(ctx, w)
	if err != nil {
		return err
	}
	events, err := settled(ctx, w)
	if err != nil {
		return err
	}
	before, err := everything(ctx, w, told)
	if err != nil {
		return err
	}
	count, err := versions(ctx, db, stack.Outputs)
	if err != nil {
		return err
	}
	if len(count) != 1 || count[newest] == 0 {
		return fmt.Errorf("not every item says version %d: items by version are %v", newest, count)
	}
	fmt.Fprintf(out, "%d tasks, %d answers noted; items by version of their layout: %v\n", len(told), len(before), count)

	saved, err := backups(ctx, db, stack.Outputs)
	if err != nil {
		return err
	}
	lost, err := w.Sender.Client.Send(ctx, send(w, "after the backup", "lost"))
	if err != nil {
		return err
	}
	if err := lose(ctx, db, stack.Outputs); err != nil {
		return err
	}
	fmt.Fprintln(out, "backed up; a task more; the tables are deleted")

	began := time.Now()
	names, err := restore(ctx, db, saved)
	if err != nil {
		return err
	}
	aged, err := age(ctx, db, names)
	if err != nil {
		return err
	}
	stream, err := startStream(ctx, db, names["TasksTable"])
	if err != nil {
		return err
	}
	again, err := attach(ctx, tree, server, names, stream)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "restored in %.0f s; %d items are as the layout before had them\n", time.Since(began).Seconds(), aged)

	after, err := everything(ctx, w, told)
	if err != nil {
		return err
	}
	if again.APIURL != stack.APIURL {
		return fmt.Errorf("the API moved from %s to %s", stack.APIURL, again.APIURL)
	}
	if err := same(before, after); err != nil {
		return err
	}
	fmt.Fprintf(out, "all %d answers are those of before\n", len(after))
	if err := goOn(ctx, w, told, lost, events, out); err != nil {
		return err
	}
	if count, err = versions(ctx, db, names); err != nil {
		return err
	}
	fmt.Fprintf(out, "items by version of their layout: %v\n", count)
	if count[newest] == 0 {
		return fmt.Errorf("nothing was written in version %d", newest)
	}
	return rewritten(ctx, db, names["TasksTable"], told["asked"])
}

// newest is the layout of now: store's schema.
const newest = 2

// attach deploys the application over the restored tables.
func attach(ctx context.Context, tree localstack.Tree, server localstack.Server, names map[string]string, stream string) (localstack.Stack, error) {
	template, err := attached(tree)
	if err != nil {
		return localstack.Stack{}, err
	}
	defer os.Remove(tree.Path(template))
	dir, err := os.MkdirTemp("", "baton-rehearsal-")
	if err != nil {
		return localstack.Stack{}, err
	}
	defer os.RemoveAll(dir)
	a := localstack.Application{Stack: localstack.Baton.Stack, Template: template, Parameters: map[string]string{"TasksStream": stream}}
	for name, value := range localstack.Baton.Parameters {
		a.Parameters[name] = value
	}
	for _, id := range tables {
		a.Parameters[id] = names[id]
	}
	return tree.DeployOn(ctx, server, filepath.Join(dir, "stack"), a)
}

func send(w demo.World, text, messageID string) client.Send {
	return client.Send{To: "@" + w.Worker.Handle, Draft: client.Draft{Message: text, MessageID: messageID}}
}

// talk makes a task in each of the states that one can be found in, by what was done to it last.
func talk(ctx context.Context, w demo.World) (map[string]client.Task, error) {
	tasks := map[string]client.Task{}
	nowhere := client.WebhookFields{URL: new("http://127.0.0.1:9443/"), Events: []string{"a2a.task.created"}}
	if _, err := w.Bank.Admin.CreateWebhook(ctx, nowhere); err != nil {
		return nil, err
	}
	if _, err := w.Other.Client.Connect(ctx, "@"+w.Worker.Handle, "Let us work together."); err != nil {
		return nil, err
	}
	if _, err := w.Worker.Client.SetAccess(ctx, w.Worker.ID, []client.Rule{{Effect: "allow", Handle: w.Sender.Handle}}); err != nil {
		return nil, err
	}
	reply := func(t client.Task, intent client.Intent, text string) error {
		_, err := w.Worker.Client.Reply(ctx, t.ID, client.Reply{Intent: intent, Draft: client.Draft{Message: text, MessageID: text}})
		return err
	}
	for _, name := range []string{"sent", "begun", "asked", "completed", "failed", "canceled", "long"} {
		t, err := w.Sender.Client.Send(ctx, send(w, "Please do what is "+name+".", name))
		if err != nil {
			return nil, err
		}
		tasks[name] = t
		switch name {
		case "begun":
			err = reply(t, client.Progress, "I have begun.")
		case "asked":
			err = reply(t, client.AskCaller, "Which one?")
		case "completed":
			err = reply(t, client.Complete, "All is done.")
		case "failed":
			err = reply(t, client.Fail, "It can't be done.")
		case "canceled":
			_, err = w.Sender.Client.Cancel(ctx, t.ID)
		case "long": // the ledger is written too
			for i := range 30 {
				if err == nil {
					err = reply(t, client.Progress, fmt.Sprintf("Step %d of many.", i))
				}
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	_, err := w.Sender.Client.Send(ctx, client.Send{To: w.Worker.ID, ContextID: tasks["sent"].ContextID, Draft: client.Draft{Message: "One more."}})
	return tasks, err
}

// goOn goes on where the backup was made: what was known is known, what was lost can be sent anew, and the log has no hole.
func goOn(ctx context.Context, w demo.World, told map[string]client.Task, lost client.Task, events client.EventPage, out io.Writer) error {
	if t, err := w.Sender.Client.Send(ctx, send(w, "Worded otherwise.", "completed")); err != nil || t.ID != told["completed"].ID || !t.Replayed {
		return fmt.Errorf("a retry from before is task %s, want %s (%v)", t.ID, told["completed"].ID, err)
	}
	if t, err := w.Sender.Client.Send(ctx, send(w, "after the backup", "lost")); err != nil || t.ID != lost.ID || t.Replayed {
		return fmt.Errorf("a retry of what was lost is %s, replayed: %v (%v)", t.ID, t.Replayed, err)
	}
	if t, err := w.Sender.Client.Add(ctx, told["asked"].ID, client.Draft{Message: "This one."}); err != nil || t.State != client.Working {
		return fmt.Errorf("an answer leaves the task %s (%v)", t.State, err)
	}
	if _, err := w.Worker.Client.Reply(ctx, told["asked"].ID, client.Reply{Intent: client.Complete, Draft: client.Draft{Message: "Thanks."}}); err != nil {
		return err
	}
	// Of the lost one's send, the answer and the completion; the retry is no event.
	last := events.Items[len(events.Items)-1].Sequence
	cursor, seen := events.Cursor, 0
	for seen < 2 {
		e, next, ok, err := w.Bank.Admin.WaitEvent(ctx, client.EventFilter{Cursor: cursor}, 20*time.Second)
		if err != nil || !ok {
			return fmt.Errorf("the log of before does not go on behind %d events (%v)", seen, err)
		}
		seen++
		if e.Sequence != last+int64(seen) {
			return fmt.Errorf("event %s has sequence %d behind %d", e.Type, e.Sequence, last)
		}
		cursor = next
	}
	fmt.Fprintf(out, "retries of before are known, the lost send is taken anew, the log goes on at %d without a hole\n", last+1)
	return nil
}
