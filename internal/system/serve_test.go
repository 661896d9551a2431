package system

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"baton/client"
	"baton/internal/demo"
	"baton/internal/localaws"
)

// shortest is the shortest lease that there is.
const shortest = 30 * time.Second

// losing fails what lose says, before it is sent.
type losing struct{ lose func(body []byte) bool }

func (l losing) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil || l.lose(body) {
		return nil, errors.Join(errors.New("lost on the way"), err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return wire.Transport.RoundTrip(r)
}

// serving lets Serve do the tasks of an agent with the shortest lease; reported is what it did not answer.
func serving(t *testing.T, a demo.Agent, handle client.Handler, options ...client.Option) (reported chan error) {
	t.Helper()
	reported = make(chan error, 10)
	served := make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	c := client.New(localaws.Stack(t).APIURL, a.Key, append([]client.Option{client.WithHTTPClient(wire)}, options...)...)
	go func() {
		defer close(served)
		c.Serve(ctx, 1, handle, client.WithLease(shortest), client.OnError(func(_ client.Task, err error) { reported <- err }))
	}()
	t.Cleanup(func() { stop(); <-served })
	return reported
}

// A handler that takes longer than its lease keeps the task, and nobody else gets it.
func TestServeKeepsATaskForLongerThanItsLease(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	sent := newTask(t, from, to, "Take your time.")
	began := make(chan struct{})
	reported := serving(t, to, func(ctx context.Context, _ client.Task) (client.Reply, error) {
		close(began) // a second time would panic
		select {
		case <-ctx.Done():
			return client.Reply{}, context.Cause(ctx)
		case <-time.After(shortest + shortest/3):
			return client.Reply{Intent: client.Complete, Draft: client.Draft{Message: "Done at last."}}, nil
		}
	})
	<-began
	for {
		others, err := to.Client.Claim(t.Context(), client.ClaimOptions{Wait: 5 * time.Second})
		if err != nil || len(others) > 0 {
			t.Fatalf("another claimer got %+v, %v", others, err)
		}
		if now := read(t, from, sent.ID); now.State != client.Working {
			if now.State != client.Completed || now.Result != "Done at last." {
				t.Errorf("it ended %+v", now)
			}
			break
		}
	}
	select {
	case err := <-reported:
		t.Error(err)
	default:
	}
}

// Whose lease is lost is told so, and says nothing more: the service was out of reach, or the task was canceled.
func TestServeStopsWorkThatIsNoLongerItsOwn(t *testing.T) {
	t.Parallel()
	work := func(ctx context.Context, _ client.Task) (client.Reply, error) {
		<-ctx.Done()
		return client.Reply{Intent: client.Complete, Draft: client.Draft{Message: "Too late."}}, nil
	}
	lost := func(t *testing.T, reported chan error) {
		t.Helper()
		select {
		case err := <-reported:
			if !errors.Is(err, client.ErrLeaseLost) {
				t.Error(err)
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("nobody told it")
		}
	}
	t.Run("no renewal arrives", func(t *testing.T) {
		t.Parallel()
		from, to := pair(t)
		sent := newTask(t, from, to, "Are you there?")
		reported := serving(t, to, work, client.WithHTTPClient(&http.Client{Transport: losing{func(body []byte) bool {
			return bytes.Contains(body, []byte(`"progress"`))
		}}}))
		await(t, "the first claimer", func() bool { return read(t, from, sent.ID).State == client.Working })
		lost(t, reported)
		// Serve goes on, so either may be the next claimer; what counts is that somebody gets the task again.
		await(t, "the next claimer", func() bool { return read(t, from, sent.ID).ETag == `"3"` })
		if now := read(t, from, sent.ID); now.State != client.Working || len(now.Messages) != 1 {
			t.Errorf("%+v", now)
		}
	})
	t.Run("the task is canceled", func(t *testing.T) {
		t.Parallel()
		from, to := pair(t)
		sent := newTask(t, from, to, "Never mind.")
		reported := serving(t, to, work)
		await(t, "the claimer", func() bool { return read(t, from, sent.ID).State == client.Working })
		if _, err := from.Client.Cancel(t.Context(), sent.ID); err != nil {
			t.Fatal(err)
		}
		lost(t, reported)
		if now := read(t, from, sent.ID); now.State != client.Canceled || len(now.Messages) != 1 {
			t.Errorf("%+v", now)
		}
	})
}

// Each connection to the local AWS ends after what there was, so that this comes again a few times.
func TestStreamOfTheClient(t *testing.T) {
	t.Parallel()
	from, to := pair(t)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	sent := newTask(t, from, to, "Count to five.")
	go func() {
		for i := range 5 {
			to.Client.Reply(ctx, sent.ID, client.Reply{Intent: client.Progress, Draft: client.Draft{Message: fmt.Sprint(i + 1)}})
			time.Sleep(time.Second)
		}
	}()
	var versions []int
	f := client.EventFilter{AggregateID: sent.ID, Since: sent.CreatedAt}
	for len(versions) < 5 && ctx.Err() == nil {
		for e, err := range from.Client.Stream(ctx, f) {
			if err != nil {
				t.Fatal(err)
			}
			versions, f = append(versions, e.Version), client.EventFilter{AggregateID: sent.ID, Cursor: e.Cursor}
			if len(versions)%2 == 0 {
				break // the program starts again, from the cursor that it kept
			}
			if len(versions) == 5 {
				break
			}
		}
	}
	if !slices.Equal(versions, []int{2, 3, 4, 5, 6}) {
		t.Errorf("saw the versions %v", versions)
	}
}
