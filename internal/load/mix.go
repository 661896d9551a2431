package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"

	"baton/client"
	"baton/internal/task"
	"baton/internal/traffic"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// mix is what the agents want next. Many calls are under way at once; what comes back changes what is wanted.
type mix struct {
	world  *traffic.World
	ledger *traffic.Ledger

	mu    sync.Mutex
	open  []talk
	again []*call // had no answer that says whether they were made
	under map[string]*call
	next  int
}

// talk is a task that has not ended, as far as is known.
type talk struct {
	id, context       string
	requester, worker *traffic.Agent
	lease             string
	asked             bool
}

// call is one request, however often it is made.
type call struct {
	operation    string
	method, path string
	agent        *traffic.Agent
	body         any
	write        *traffic.Write
	tries        int
	done         func(answer []byte) // after a success
}

// weights are how often each operation is wanted, for each task a send: more tasks are begun than ended, to a bound.
var weights = []struct {
	operation string
	share     int
}{
	{"send", 20}, {"progress", 14}, {"ask", 5}, {"add", 5}, {"complete", 14}, {"cancel", 3}, {"claim", 5},
	{"read", 20}, {"wait", 3}, {"list", 6}, {"search", 2}, {"messages", 3}, {"events", 4},
}

// mostOpen is how many tasks are open at most; then those there are worked on.
const mostOpen = 400

// target implements vegeta.Targeter.
func (m *mix) target(t *vegeta.Target) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.pick()
	c.tries++
	m.next++
	mark := fmt.Sprint(m.next)
	m.under[mark] = c
	t.Method, t.URL = c.method, m.world.URL+c.path
	t.Header = http.Header{
		"Authorization": {"Bearer " + c.agent.Key()}, "Accept": {"application/json"}, markHeader: {mark},
	}
	t.Body = nil
	if c.body != nil {
		t.Header.Set("Content-Type", "application/json")
		var err error
		if t.Body, err = json.Marshal(c.body); err != nil {
			return err
		}
	}
	if c.write != nil {
		m.ledger.Note(*c.write, traffic.Unknown)
	}
	return nil
}

func (m *mix) pick() *call {
	if n := len(m.again); n > 0 {
		c := m.again[0]
		m.again = m.again[1:]
		return c
	}
	for {
		all := 0
		for _, w := range weights {
			all += w.share
		}
		n := rand.IntN(all)
		for _, w := range weights {
			if n -= w.share; n < 0 {
				if c := m.wish(w.operation); c != nil {
					c.operation = w.operation
					return c
				}
				break
			}
		}
	}
}

// wish is a call of an operation, nil when there is nothing to do it on.
func (m *mix) wish(operation string) *call {
	agents := m.world.Agents()
	someone := agents[rand.IntN(len(agents))]
	switch operation {
	case "send":
		if len(m.open) >= mostOpen {
			return nil
		}
		return m.send(agents)
	case "claim":
		return m.claim(someone)
	case "list":
		return &call{method: "GET", path: "/v1/a2a/tasks/search?limit=20", agent: someone}
	case "search":
		return &call{method: "GET", path: "/v1/a2a/tasks/search?limit=20&q=refund+order", agent: someone}
	case "events":
		return &call{method: "GET", path: "/v1/events?limit=50", agent: someone}
	}
	if len(m.open) == 0 {
		return nil
	}
	n := rand.IntN(len(m.open))
	t := m.open[n]
	switch operation {
	case "read":
		return &call{method: "GET", path: "/v1/a2a/tasks/" + t.id, agent: t.requester}
	case "wait":
		return &call{method: "GET", path: "/v1/a2a/tasks/" + t.id + "?wait=1", agent: t.requester}
	case "messages":
		return &call{method: "GET", path: "/v1/a2a/tasks/" + t.id + "/messages", agent: t.worker}
	}
	if (operation == "add") != t.asked && operation != "cancel" {
		return nil
	}
	// Whoever writes has the task to itself, but for one of ten: those races are wanted.
	if rand.IntN(10) > 0 {
		m.open = append(m.open[:n], m.open[n+1:]...)
	}
	back := func() {
		m.open = append(m.open, t)
	}
	switch operation {
	case "progress":
		return reply(t, client.Progress, func([]byte) { back() })
	case "ask":
		return reply(t, client.AskCaller, func([]byte) { t.asked, t.lease = true, ""; back() })
	case "complete":
		return reply(t, client.Complete, nil)
	case "add":
		d := draft()
		return &call{
			method: "POST", path: "/v1/a2a/tasks/" + t.id + "/messages", agent: t.requester, body: d,
			write: write(t.id, task.ByCaller, d.MessageID), done: func([]byte) { t.asked = false; back() },
		}
	default:
		w := write(t.id, task.ByCaller, "")
		w.Cancel = true
		return &call{method: "POST", path: "/v1/a2a/tasks/" + t.id + "/cancel", agent: t.requester, write: w}
	}
}

func (m *mix) send(agents []*traffic.Agent) *call {
	i := rand.IntN(len(agents))
	from, to := agents[i], agents[(i+1+rand.IntN(len(agents)-1))%len(agents)]
	d := draft()
	a, _ := task.ParseID(from.ID)
	b, _ := task.ParseID(to.ID)
	body := struct {
		Target  string `json:"target_handle"`
		Context string `json:"context_id,omitempty"`
		client.Draft
	}{Target: to.Handle, Draft: d}
	if n := len(m.open); n > 0 && rand.IntN(4) == 0 {
		with := m.open[rand.IntN(n)] // a further task of a conversation
		from, to, body.Target, body.Context = with.requester, with.worker, with.worker.Handle, with.context
		a, _ = task.ParseID(from.ID)
		b, _ = task.ParseID(to.ID)
	}
	return &call{
		method: "POST", path: "/v1/a2a/tasks", agent: from, body: body,
		write: &traffic.Write{Task: task.SendID(a, b, d.MessageID), Role: task.ByCaller, MessageID: d.MessageID},
		done: func(answer []byte) {
			var t client.Task
			if json.Unmarshal(answer, &t) == nil {
				m.open = append(m.open, talk{id: t.ID, context: t.ContextID, requester: from, worker: to})
			}
		},
	}
}

func (m *mix) claim(worker *traffic.Agent) *call {
	return &call{
		method: "POST", path: "/v1/a2a/tasks/claim", agent: worker, body: map[string]int{"max": 2, "lease_seconds": leaseSeconds},
		done: func(answer []byte) {
			var got struct{ Items []client.Claim }
			json.Unmarshal(answer, &got)
			for _, c := range got.Items {
				id, _ := task.ParseID(c.Task.ID)
				m.ledger.Claimed(id, c.LeaseID)
				for i, t := range m.open {
					if t.id == c.Task.ID {
						m.open[i].lease = c.LeaseID
					}
				}
			}
		},
	}
}

func reply(t talk, intent client.Intent, done func([]byte)) *call {
	r := client.Reply{Intent: intent, LeaseID: t.lease, Draft: draft()}
	return &call{
		method: "POST", path: "/v1/a2a/tasks/" + t.id + "/reply", agent: t.worker, body: r,
		write: write(t.id, task.ByAgent, r.MessageID), done: done,
	}
}

func write(id string, role task.Role, messageID string) *traffic.Write {
	t, _ := task.ParseID(id)
	return &traffic.Write{Task: t, Role: role, MessageID: messageID}
}

func draft() client.Draft {
	return client.Draft{
		Message: fmt.Sprintf("Please refund order %d, as agreed on the phone", rand.IntN(10_000)), MessageID: task.NewID().String(),
	}
}
