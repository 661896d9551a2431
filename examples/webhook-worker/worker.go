package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
	"time"

	"baton/client"
)

// answer is the work: it says what to reply to a task as it stands. Here it counts the words of the request.
func answer(t client.Task) client.Reply {
	text := fmt.Sprintf("%d words", len(strings.Fields(t.Message)))
	return client.Reply{Intent: client.Complete, Draft: client.Draft{Message: text}}
}

const (
	waiting    = 100         // tasks that wait; more are refused, and come again
	remembered = 10_000      // deliveries that are known to have come
	lookAgain  = time.Minute // for what was accepted and not done
	largest    = 256 << 10   // an event has 64 KB
)

type worker struct {
	baton   *client.Client
	secrets []string
	tasks   chan string

	mu   sync.Mutex
	seen map[string]bool // by webhook-id
}

func newWorker(baton *client.Client, secrets []string) *worker {
	return &worker{baton: baton, secrets: secrets, tasks: make(chan string, waiting), seen: map[string]bool{}}
}

// ServeHTTP takes a delivery and answers before the work is done: Baton waits 15 s at most.
func (w *worker) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, largest))
	if err != nil {
		http.Error(rw, "too much", http.StatusRequestEntityTooLarge)
		return
	}
	event, err := client.Verify(r.Header, body, w.secrets...)
	if err != nil {
		log.Print(err)
		http.Error(rw, "not signed", http.StatusUnauthorized)
		return
	}
	if !w.take(r.Header.Get(client.HeaderWebhookID), event.AggregateID) {
		http.Error(rw, "too busy", http.StatusServiceUnavailable) // it comes again
		return
	}
	rw.WriteHeader(http.StatusNoContent)
}

// take lets a delivery's task wait to be done, unless the delivery came before; false when there is no room.
func (w *worker) take(delivery, task string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen[delivery] {
		return true
	}
	select {
	case w.tasks <- task:
	default:
		return false
	}
	if len(w.seen) >= remembered {
		clear(w.seen) // what comes again is done again, and said once: see do
	}
	w.seen[delivery] = true
	return true
}

// run does what waits until ctx ends. What was accepted and lost, by a crash or an error, stands in Baton as submitted: it is
// looked for at the start and each minute.
func (w *worker) run(ctx context.Context) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		for t, err := range w.baton.Tasks(ctx, client.TaskFilter{Direction: client.Inbound, State: client.Submitted}) {
			if err != nil {
				log.Print(err)
				break
			}
			w.do(ctx, t.ID)
		}
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return
			case id := <-w.tasks:
				w.do(ctx, id)
			case <-tick.C:
				again = true
			}
		}
	}
}

// do answers a task. The answer's message id is the same whatever led to it: said twice, it stands once.
func (w *worker) do(ctx context.Context, id string) {
	t, err := w.baton.Task(ctx, id)
	if err == nil && !t.State.Terminal() {
		reply := answer(t)
		reply.MessageID = "answer"
		_, err = w.baton.Reply(ctx, id, reply, client.Minimal())
	}
	if err != nil && !client.HasCode(err, client.CodeTerminal) {
		log.Printf("task %s is not answered: %v", id, err)
	}
}
