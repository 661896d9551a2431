package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"baton/client"

	"github.com/aws/aws-lambda-go/events"
)

func TestWish(t *testing.T) {
	said := func(role, text string) client.Message {
		return client.Message{Role: role, Parts: []client.Part{{Text: text}}}
	}
	for name, c := range map[string]struct {
		messages []client.Message
		want     wish
	}{
		"all at once":                   {[]client.Message{said("caller", "Refund order 4182: 12,50 eur please")}, wish{"4182", "12.50", "EUR"}},
		"no amount":                     {[]client.Message{said("caller", "Please refund order #A-77.")}, wish{"A-77", "", ""}},
		"the amount later":              {[]client.Message{said("caller", "order 7"), said("agent", "5 EUR?"), said("caller", "6 EUR")}, wish{"7", "6", "EUR"}},
		"only the worker named a price": {[]client.Message{said("caller", "order 7"), said("agent", "5 EUR?")}, wish{"7", "", ""}},
		"nothing":                       {nil, wish{}},
	} {
		if got := read(c.messages); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// service stands in for the API: what is looked at here is what the worker says, and under which message ids.
type service struct {
	task  client.Task
	ended bool
	said  []client.Reply
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		json.NewEncoder(w).Encode(s.task)
		return
	}
	var reply client.Reply
	json.NewDecoder(r.Body).Decode(&reply)
	s.said = append(s.said, reply)
	if s.ended {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		w.Write([]byte(`{"status":409,"code":"a2a.task_terminal"}`))
		return
	}
	json.NewEncoder(w).Encode(s.task)
}

func handle(t *testing.T, s *service, kind string) (intents string) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	s.said = nil
	event := events.EventBridgeEvent{DetailType: kind, Detail: []byte(`{"id":"e1","payload":{"task_id":"t1"}}`)}
	if err := (worker{client.New(server.URL, "key")}).handle(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, reply := range s.said {
		if reply.MessageID != "e1/"+string(reply.Intent) {
			t.Errorf("message id %q does not follow from the event", reply.MessageID)
		}
		all = append(all, string(reply.Intent))
	}
	return strings.Join(all, " ")
}

func TestHandle(t *testing.T) {
	asks := func(text string, state client.State) client.Task {
		return client.Task{ID: "t1", State: state, Messages: []client.Message{{Role: "caller", Parts: []client.Part{{Text: text}}}}}
	}
	for name, c := range map[string]struct {
		service service
		kind    string
		want    string
	}{
		"a whole wish is done":             {service{task: asks("order 1, 2 EUR", client.Submitted)}, "a2a.task.created", "progress complete"},
		"a missing amount is asked for":    {service{task: asks("order 1", client.Submitted)}, "a2a.task.created", "progress ask_caller"},
		"a missing order is asked for":     {service{task: asks("2 EUR back", client.Submitted)}, "a2a.task.created", "progress ask_caller"},
		"the answer finishes it":           {service{task: asks("order 1, 2 EUR", client.Working)}, "a2a.task.message", "complete"},
		"an answer without it asks again":  {service{task: asks("order 1", client.Working)}, "a2a.task.message", "ask_caller"},
		"an ended task is left alone":      {service{task: asks("order 1, 2 EUR", client.Canceled)}, "a2a.task.created", ""},
		"a task that ends under its hands": {service{task: asks("order 1", client.Working), ended: true}, "a2a.task.message", "ask_caller"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := handle(t, &c.service, c.kind); got != c.want {
				t.Errorf("it says %q, want %q", got, c.want)
			}
		})
	}
}
