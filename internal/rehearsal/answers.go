package rehearsal

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"

	"baton/client"
	"baton/internal/demo"
	"baton/internal/store/storetest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// cursors are sealed anew in every answer.
var cursors = regexp.MustCompile(`"(next_)?cursor":"[^"]*"`)

// everything is what the world's keys are answered, by key and path.
func everything(ctx context.Context, w demo.World, told map[string]client.Task) (map[string]string, error) {
	all := map[string]string{}
	paths := []string{
		"/v1/a2a/tasks/search?limit=100", "/v1/a2a/tasks/search?q=step&state=working", "/v1/a2a/messages?limit=100", "/v1/a2a/contexts",
		"/v1/discover", "/v1/events?limit=100", "/v1/a2a/connections", "/v1/identities/" + w.Worker.ID + "/a2a/access",
	}
	for _, t := range told {
		paths = append(paths, "/v1/a2a/tasks/"+t.ID, "/v1/a2a/tasks/"+t.ID+"/messages?limit=100", "/v1/a2a/contexts/"+t.ContextID)
	}
	for _, a := range []demo.Agent{w.Sender, w.Other, w.Worker} {
		for _, path := range paths {
			if err := note(ctx, all, w.URL, a.Handle, a.Key, path); err != nil {
				return nil, err
			}
		}
	}
	for _, o := range []demo.Organization{w.Shop, w.Bank} {
		for _, path := range []string{"/v1/organizations/" + o.ID, "/v1/identities", "/v1/webhooks", "/v1/events?limit=100"} {
			if err := note(ctx, all, w.URL, o.Name, o.Key.Secret, path); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func note(ctx context.Context, all map[string]string, url, who, key, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	text := cursors.ReplaceAll(body, []byte(`"${1}cursor":"…"`))
	if res.StatusCode >= 400 {
		text = nil // its request id differs
	}
	all[who+" "+path] = fmt.Sprintf("%d %s %s", res.StatusCode, res.Header.Get("ETag"), text)
	return nil
}

// same compares what was answered with what is.
func same(before, after map[string]string) error {
	for what, was := range before {
		if is := after[what]; is != was {
			return fmt.Errorf("%s is answered\n%s\nand was\n%s", what, is, was)
		}
	}
	return nil
}

// settled is the worker's organization's log once nothing comes any more.
func settled(ctx context.Context, w demo.World) (page client.EventPage, err error) {
	for n := -1; n != len(page.Items) || n == 0; {
		n = len(page.Items)
		select {
		case <-ctx.Done():
			return page, ctx.Err()
		case <-time.After(3 * time.Second):
		}
		if page, err = w.Bank.Admin.EventPage(ctx, client.EventFilter{}); err != nil {
			return page, err
		}
	}
	return page, nil
}

// rewritten says whether the head of a task that was written since is in the newest layout.
func rewritten(ctx context.Context, db *dynamodb.Client, table string, t client.Task) error {
	found := 0
	err := each(ctx, db, table, func(item map[string]types.AttributeValue) error {
		sort, _ := item["s"].(*types.AttributeValueMemberS)
		key, _ := item["p"].(*types.AttributeValueMemberB)
		if sort.Value != "T" || fmt.Sprintf("%x", key.Value[len(key.Value)-16:]) != plain(t.ID) {
			return nil
		}
		found++
		if v := storetest.Version(item); v != newest {
			return fmt.Errorf("the head of a task that was written again is in version %d", v)
		}
		return nil
	})
	if err == nil && found != 1 {
		err = fmt.Errorf("%d heads of task %s", found, t.ID)
	}
	return err
}

// plain is an id without its hyphens.
func plain(id string) string { return regexp.MustCompile("-").ReplaceAllString(id, "") }
