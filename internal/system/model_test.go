package system

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"baton/client"
)

// command is a write on one task, or a read of it when kind is "read".
type command struct {
	kind      string // add, reply, set, cancel, read
	intent    client.Intent
	state     client.State // for set
	text      string
	messageID string
	ifMatch   int // 0: none
}

func (c command) String() string {
	return fmt.Sprintf("%s %s%s %q id=%s if=%d", c.kind, c.intent, c.state, c.text, c.messageID, c.ifMatch)
}

// seen is what came back: a refusal, or the task.
type seen struct {
	status  int
	code    string
	version int
	state   client.State
	texts   string
}

// model is a task as the contract has it: written a second time, and simpler than the service.
type model struct {
	version  int
	state    client.State
	texts    string // what was said by whom, in order
	spoke    bool   // the worker
	accepted map[string]bool
}

// step is the state machine of the contract: what a command answers, and what the task is after it.
func (m model) step(c command) (seen, model) {
	refuse := func(status int, code string) (seen, model) { return seen{status: status, code: code}, m }
	answer := func(m model) (seen, model) {
		return seen{200, "", m.version, m.state, m.texts}, m
	}
	if c.kind == "read" {
		return answer(m)
	}
	author := "agent"
	if c.kind == "add" || c.kind == "cancel" {
		author = "caller"
	}
	id := author + "/" + c.messageID
	switch {
	case c.messageID != "" && m.accepted[id]:
		return answer(m)
	case c.ifMatch != 0 && c.ifMatch != m.version:
		return refuse(412, "")
	case c.kind == "cancel" && m.state == client.Canceled:
		return answer(m)
	case m.state.Terminal():
		return refuse(409, client.CodeTerminal)
	}
	switch c.kind {
	case "add":
		if m.state == client.InputRequired {
			m.state = client.Working
		}
	case "cancel":
		m.state = client.Canceled
	case "reply":
		to := map[client.Intent]client.State{
			client.Progress: client.Working, client.AskCaller: client.InputRequired, client.Complete: client.Completed,
			client.Fail: client.Failed, client.Reject: client.Rejected,
		}[c.intent]
		if to == client.Rejected && m.spoke {
			return refuse(409, client.CodeTransition)
		}
		m.state = to
	case "set":
		if c.state == client.Rejected && m.spoke {
			return refuse(409, client.CodeTransition)
		}
		if c.state != "" {
			m.state = c.state
		}
	}
	m.version++
	if c.text != "" {
		m.texts += fmt.Sprintf("%s:%s|", author, c.text)
		m.spoke = m.spoke || author == "agent"
	}
	if c.messageID != "" {
		m.accepted = maps.Clone(m.accepted)
		m.accepted[id] = true
	}
	return answer(m)
}

// machine is the model as porcupine takes it. A conflict that the service gave up on would be allowed by the contract,
// but with so few callers there must be none.
func machine(first string) porcupine.Model {
	return porcupine.Model{
		Init: func() any {
			return model{version: 1, state: client.Submitted, texts: "caller:" + first + "|", accepted: map[string]bool{}}
		},
		Step: func(state, input, output any) (bool, any) {
			want, next := state.(model).step(input.(command))
			got := output.(seen)
			if want.code == "" && want.status != 200 {
				got.code = ""
			}
			return want == got, next
		},
		Equal: func(a, b any) bool {
			x, y := a.(model), b.(model)
			return x.version == y.version && x.state == y.state && x.texts == y.texts && x.spoke == y.spoke && maps.Equal(x.accepted, y.accepted)
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v -> %+v", input, output) },
	}
}

// random is some command. Message ids come from a few, so that repetitions happen, and versions are near the truth.
func random(r *rand.Rand, n int) command {
	c := command{text: fmt.Sprint("t", n)}
	switch r.IntN(10) {
	case 0, 1:
		c.kind = "add"
	case 2:
		return command{kind: "cancel", ifMatch: r.IntN(2) * (1 + r.IntN(6))}
	case 3:
		return command{kind: "read"}
	case 4:
		c.kind = "set"
		c.state = []client.State{"", client.Working, client.InputRequired, client.Completed, client.Failed, client.Rejected}[r.IntN(6)]
		if c.state != "" && r.IntN(2) == 0 {
			c.text = ""
		}
	default:
		c.kind = "reply"
		c.intent = []client.Intent{client.Progress, client.Progress, client.AskCaller, client.AskCaller, client.Complete, client.Fail, client.Reject}[r.IntN(7)]
	}
	if r.IntN(3) > 0 {
		c.messageID = fmt.Sprint("m", r.IntN(4))
	}
	if r.IntN(4) == 0 {
		c.ifMatch = 1 + r.IntN(6)
	}
	return c
}

func perform(t *testing.T, c command, requester, worker, id string) seen {
	path, key, method := "/v1/a2a/tasks/"+id, requester, "POST"
	body := map[string]any{}
	if c.messageID != "" {
		body["message_id"] = c.messageID
	}
	switch c.kind {
	case "add":
		path += "/messages"
		body["message"] = c.text
	case "cancel":
		path += "/cancel"
	case "read":
		method = "GET"
	case "reply":
		path, key = path+"/reply", worker
		body["message"], body["intent"] = c.text, c.intent
	case "set":
		key, method = worker, "PATCH"
		if c.text != "" {
			body["result"] = c.text
		}
		if c.state != "" {
			body["state"] = c.state
		}
	}
	var headers []string
	if c.ifMatch != 0 {
		headers = []string{"If-Match", fmt.Sprintf(`"%d"`, c.ifMatch)}
	}
	var sent any
	if method != "GET" {
		sent = body
	}
	a, err := try(t, key, method, path, sent, headers...)
	if err != nil {
		t.Error(err)
		return seen{}
	}
	if a.status != 200 {
		return seen{status: a.status, code: a.problem(t).Code}
	}
	got, version := a.task(t)
	s := seen{status: 200, version: version, state: got.State}
	for _, m := range got.Messages {
		s.texts += m.Role + ":" + m.Text() + "|"
	}
	return s
}

// Random commands, from one caller at a time and from several at once: whatever comes back, there is an order of the
// commands in which the state machine of the contract answers the same.
func TestHistoriesFitTheStateMachine(t *testing.T) {
	t.Parallel()
	const tasks = 24
	from, to := pair(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	at(3, func(lane int) bool {
		for i := lane; i < tasks; i += 3 {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			callers, each := 1+i%4, 4+r.IntN(4)
			plans := make([][]command, callers)
			n := 0
			for c := range plans {
				for range each {
					n++
					plans[c] = append(plans[c], random(r, n))
				}
			}
			oneHistory(t, from.Key, to.Key, to.Handle, plans)
		}
		return true
	})
}

func oneHistory(t *testing.T, from, to, handle string, plans [][]command) {
	made := call(t, from, "POST", "/v1/a2a/tasks", map[string]any{"target_handle": handle, "message": "go"})
	if made.status != 201 {
		t.Errorf("send: %d %s", made.status, made.body)
		return
	}
	sent, _ := made.task(t)
	start := time.Now()
	histories := at(len(plans), func(caller int) (ops []porcupine.Operation) {
		for _, c := range plans[caller] {
			begun := time.Since(start)
			out := perform(t, c, from, to, sent.ID)
			ops = append(ops, porcupine.Operation{
				ClientId: caller, Input: c, Call: int64(begun), Output: out, Return: int64(time.Since(start)),
			})
		}
		return ops
	})
	ops := slices.Concat(histories...)
	end := int64(time.Since(start))
	ops = append(ops, porcupine.Operation{ClientId: 0, Input: command{kind: "read"}, Call: end, Output: perform(t, command{kind: "read"}, from, to, sent.ID), Return: end + int64(time.Since(start))})
	if result := porcupine.CheckOperationsTimeout(machine("go"), ops, 20*time.Second); result != porcupine.Ok {
		slices.SortFunc(ops, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
		text := ""
		for _, op := range ops {
			text += fmt.Sprintf("\n  %d: %v -> %+v  [%d, %d]", op.ClientId, op.Input, op.Output, op.Call/1e6, op.Return/1e6)
		}
		t.Errorf("no order explains (%s)%s", result, text)
	}
}

// The state machine itself: what the contract says in a sentence each.
func TestTheModel(t *testing.T) {
	begin := machine("go").Init().(model)
	run := func(commands ...command) seen {
		m, s := begin, seen{}
		for _, c := range commands {
			s, m = m.step(c)
		}
		return s
	}
	ask := command{kind: "reply", intent: client.AskCaller, text: "?"}
	reject := command{kind: "reply", intent: client.Reject, text: "no"}
	for name, c := range map[string]struct {
		got  seen
		want client.State
		code string
	}{
		"an answer resumes":                   {run(ask, command{kind: "add", text: "!"}), client.Working, ""},
		"an addition to a new task":           {run(command{kind: "add", text: "!"}), client.Submitted, ""},
		"rejected before a word":              {run(reject), client.Rejected, ""},
		"rejected after a word":               {run(ask, reject), "", client.CodeTransition},
		"canceled twice":                      {run(command{kind: "cancel"}, command{kind: "cancel"}), client.Canceled, ""},
		"completed, then canceled":            {run(command{kind: "set", state: client.Completed}, command{kind: "cancel"}), "", client.CodeTerminal},
		"a repetition after the end":          {run(command{kind: "reply", intent: client.Fail, text: "x", messageID: "m"}, command{kind: "reply", intent: client.Progress, text: "y", messageID: "m"}), client.Failed, ""},
		"a state set without a word, then no": {run(command{kind: "set", state: client.Working}, reject), client.Rejected, ""},
	} {
		if c.got.state != c.want || c.got.code != c.code {
			t.Errorf("%s: %+v", name, c.got)
		}
	}
}
