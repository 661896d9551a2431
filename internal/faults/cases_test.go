package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"baton/client"
	"baton/internal/task"
	"baton/internal/traffic"
)

// faultCase is one kind of trouble.
type faultCase struct {
	name string
	// begin puts the trouble in force, for as long as the agents talk.
	begin func(s *stage, hit hits)
	// during does something in the middle of the talk.
	during func(s *stage, hit hits)
	// lasting is trouble that is still there when things settle the first time.
	lasting bool
	// after does something once the talk is over and the faults are gone, before things settle for good.
	after func(s *stage, hit hits)
	// must are the hits without which the case proves nothing; all of them where there are none.
	must        []string
	callTimeout time.Duration
	skews       []time.Duration
}

// hits counts how often a fault was really met, by what it hit.
type hits struct {
	mu *sync.Mutex
	n  map[string]int
}

func newHits() hits { return hits{&sync.Mutex{}, map[string]int{}} }

func (h hits) count(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n[what]++
}

func (h hits) total() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.n {
		n += c
	}
	return n
}

func (h hits) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for what, n := range h.n {
		all = append(all, fmt.Sprintf("%s %d", what, n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// sometimes hits a share of an operation's requests, evenly and one of the first, and counts them.
func (h hits) sometimes(operation string, share float64) func([]byte) bool {
	var mu sync.Mutex
	sum := 0.5 + rand.Float64()/2
	return func([]byte) bool {
		mu.Lock()
		defer mu.Unlock()
		if sum += share; sum < 1 {
			return false
		}
		sum--
		h.count(operation)
		return true
	}
}

// The calls that the functions make, by service.
var (
	databaseWrites = []string{"TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem"}
	databaseReads  = []string{"GetItem", "Query", "BatchGetItem"}
	otherCalls     = []string{"PutEvents", "DescribeEventBus", "SendMessageBatch"}
)

func calls(lists ...[]string) []string { return slices.Concat(lists...) }

var cases = []faultCase{
	{
		name:  "no fault", // what the harness itself would break
		begin: func(_ *stage, hit hits) { hit.count("nothing") },
	},
	{
		name: "each kind of call throttled",
		begin: func(s *stage, hit hits) {
			for _, op := range calls(databaseWrites, databaseReads) {
				s.faults.On(op).When(hit.sometimes(op, 0.2)).Always().Throttle()
			}
			for _, op := range otherCalls {
				s.faults.On(op).When(hit.sometimes(op, 0.4)).Always().Fail(http.StatusBadRequest, "ThrottlingException")
			}
		},
		must: calls([]string{"TransactWriteItems", "UpdateItem"}, databaseReads[:2], []string{"PutEvents", "SendMessageBatch"}),
	},
	{
		name: "transactions canceled",
		begin: func(s *stage, hit hits) {
			for _, code := range []string{"ThrottlingError", "TransactionConflict"} {
				s.faults.On("TransactWriteItems").When(hit.sometimes(code, 0.2)).Always().Instead(func(body []byte) (int, []byte) {
					return http.StatusBadRequest, canceled(body, code)
				})
			}
			// And so when it was committed: an earlier try of the SDK's own held its items.
			s.faults.On("TransactWriteItems").When(hit.sometimes("committed all the same", 0.1)).Always().
				Part(func(body []byte) []byte { return body }, func(body, _ []byte) (int, []byte) {
					return http.StatusBadRequest, canceled(body, "TransactionConflict")
				})
		},
		must: []string{"ThrottlingError", "TransactionConflict", "committed all the same"},
	},
	{
		name:        "no answer in time",
		callTimeout: 700 * time.Millisecond,
		begin: func(s *stage, hit hits) {
			for _, op := range calls(databaseWrites, databaseReads, otherCalls) {
				s.faults.On(op).When(hit.sometimes(op, 0.03)).Always().Delay(2 * time.Second)
			}
		},
	},
	{
		name: "made, and the answer lost",
		begin: func(s *stage, hit hits) {
			for _, op := range calls(databaseWrites, []string{"PutEvents", "SendMessageBatch"}) {
				s.faults.On(op).When(hit.sometimes(op+" lost", 0.15)).Always().Lose()
				s.faults.On(op).When(hit.sometimes(op+" 500", 0.1)).Always().
					AnswerAfter(http.StatusInternalServerError, `{"__type":"InternalServerError","message":"made by the test"}`)
			}
		},
		must: []string{"TransactWriteItems lost", "TransactWriteItems 500", "PutEvents lost", "SendMessageBatch lost"},
	},
	{
		name: "everything down, half of the time",
		begin: func(s *stage, hit hits) {
			began := time.Now()
			s.faults.On("").When(func([]byte) bool {
				if time.Since(began)%(3*time.Second) > 1500*time.Millisecond {
					return false
				}
				hit.count("calls")
				return true
			}).Always().Refuse()
		},
	},
	{
		name: "parts of batches not taken",
		begin: func(s *stage, hit hits) {
			s.faults.On("PutEvents").When(hit.sometimes("PutEvents", 0.5)).Always().Part(halfOf("Entries"), func(body, answer []byte) (int, []byte) {
				return http.StatusOK, refuseRest(body, answer, "Entries", func(map[string]any) any {
					return map[string]any{"ErrorCode": "ThrottlingException", "ErrorMessage": "made by the test"}
				})
			})
			s.faults.On("SendMessageBatch").When(hit.sometimes("SendMessageBatch", 0.5)).Always().Part(halfOf("Entries"), func(body, answer []byte) (int, []byte) {
				return http.StatusOK, refuseRest(body, answer, "Failed", func(e map[string]any) any {
					return map[string]any{"Id": e["Id"], "Code": "ThrottlingException", "SenderFault": false}
				})
			})
			s.faults.On("BatchGetItem").When(hit.sometimes("BatchGetItem", 0.5)).Always().Part(halfOfKeys, unprocessedKeys)
		},
		during: func(s *stage, _ hits) {
			// Who reads a context reads its tasks in one batch.
			a, b := s.traffic.World.Agents()[0], s.traffic.World.Agents()[2]
			first, _ := s.traffic.Send(s.Context(), a, b)
			for range 4 {
				s.traffic.SendIn(s.Context(), a, b, first.ContextID)
			}
			for range 3 {
				if c, err := a.Client().Conversation(s.Context(), first.ContextID); err == nil && c.TaskCount < 5 {
					s.traffic.Ledger.Surprise("a context of 5 tasks was read with %d", c.TaskCount)
				}
			}
		},
		must: []string{"PutEvents", "SendMessageBatch", "BatchGetItem"},
	},
	{
		name: "functions killed",
		begin: func(s *stage, hit hits) {
			s.gateway.kill = func() (time.Duration, bool) {
				if rand.IntN(6) > 0 {
					return 0, false
				}
				hit.count("endpoints")
				return time.Duration(rand.IntN(60)) * time.Millisecond, true
			}
			s.background.kill = func() (time.Duration, bool) {
				if rand.IntN(2) > 0 {
					return 0, false
				}
				hit.count("relay, deliveries and rounds")
				return time.Duration(rand.IntN(150)) * time.Millisecond, true
			}
		},
		// The sweep of a deleted agent and of a purged organization is killed, too.
		during:  func(s *stage, _ hits) { s.purgeOne() },
		after:   func(s *stage, _ hits) { s.purged() },
		lasting: true,
		must:    []string{"endpoints", "relay, deliveries and rounds"},
	},
	{
		name: "each batch of the stream to two relays at once",
		begin: func(s *stage, hit hits) {
			s.background.twice = true
			s.background.kill = func() (time.Duration, bool) {
				hit.count("invocations")
				return 0, false
			}
		},
	},
	{
		name:  "the relay stopped for minutes",
		begin: func(s *stage, _ hits) { s.background.hold(true) },
		after: func(s *stage, hit hits) {
			for range 5 {
				s.clock.forward(time.Minute)
				s.background.round()
			}
			for _, o := range s.traffic.World.Organizations {
				id, _ := task.ParseID(o.ID)
				if head, err := s.log(s.db, nil).Head(s.Context(), id); err != nil || head.Sequence > 0 {
					s.Errorf("%d entries were logged while the relay stood still, %v", head.Sequence, err)
				}
			}
			for range s.traffic.Ledger.Tasks() {
				hit.count("tasks of which nothing was told yet")
			}
			s.background.hold(false)
		},
	},
	{
		name: "queues that take nothing",
		begin: func(s *stage, hit hits) {
			for _, op := range []string{"SendMessageBatch", "SendMessage"} {
				s.faults.On(op).When(hit.sometimes(op, 1)).Always().Fail(http.StatusForbidden, "OverLimit")
			}
		},
	},
	{
		name: "a bus is gone",
		during: func(s *stage, hit hits) {
			for _, o := range s.traffic.World.Organizations {
				id, _ := task.ParseID(o.ID)
				s.must(s.ears.DropBus(s.Context(), id))
				hit.count("buses deleted")
			}
		},
	},
	{
		name: "keys and the cursors' secret expire",
		begin: func(s *stage, hit hits) {
			s.traffic.Rekey = func(ctx context.Context, a *traffic.Agent) error {
				hit.count("keys refused")
				return s.traffic.World.Rekey(ctx, a, client.NewKey{})
			}
			s.traffic.CursorsExpire = true
			for i, a := range s.traffic.World.Agents() {
				at := time.Now().Add(time.Duration(200+700*(i%2)) * time.Millisecond)
				s.must(s.traffic.World.Rekey(s.Context(), a, client.NewKey{ExpiresAt: &at}))
			}
			time.Sleep(400 * time.Millisecond) // so that some have ended for sure, and others end in the middle
		},
		during: func(s *stage, hit hits) {
			for _, secrets := range []string{"second,first", "second", "third,second", "third"} {
				s.cursors = secrets
				s.deploy()
				hit.count("secrets rotated")
				time.Sleep(300 * time.Millisecond)
			}
		},
		after: func(s *stage, _ hits) {
			for _, a := range s.traffic.World.Agents() {
				s.must(s.traffic.World.Rekey(s.Context(), a, client.NewKey{}))
			}
		},
		must: []string{"keys refused", "secrets rotated"},
	},
	{
		name:  "clocks apart by ten minutes",
		skews: []time.Duration{-5 * time.Minute, 5 * time.Minute},
		begin: func(s *stage, hit hits) { s.clock.wrong = func() { hit.count("looks at a wrong clock") } },
		during: func(s *stage, _ hits) {
			// A walk goes from clock to clock.
			for _, a := range s.traffic.World.Agents() {
				for _, err := range a.Client().Tasks(s.Context(), client.TaskFilter{Direction: client.Both, PageSize: 1}) {
					if err != nil {
						s.traffic.Ledger.Surprise("a walk broke off: %v", err)
					}
				}
			}
		},
	},
}

// canceled is how DynamoDB cancels a transaction, by one reason for all its actions.
func canceled(body []byte, code string) []byte {
	var in struct{ TransactItems []json.RawMessage }
	json.Unmarshal(body, &in)
	var reasons []any
	for range in.TransactItems {
		reasons = append(reasons, map[string]string{"Code": code, "Message": "made by the test"})
	}
	text, _ := json.Marshal(map[string]any{
		"__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException", "message": "made by the test", "CancellationReasons": reasons,
	})
	return text
}

// halfOf leaves every other one of a request's list, the first included.
func halfOf(list string) func([]byte) []byte {
	return func(body []byte) []byte {
		in := decode(body)
		all, _ := in[list].([]any)
		var kept []any
		for i, e := range all {
			if i%2 == 0 {
				kept = append(kept, e)
			}
		}
		in[list] = kept
		return encode(in)
	}
}

// refuseRest puts what was not sent into the answer as refused: between those that were for PutEvents, whose results are by
// position, and into a list of its own for SendMessageBatch.
func refuseRest(body, answer []byte, list string, refused func(map[string]any) any) []byte {
	out := decode(answer)
	all, _ := decode(body)["Entries"].([]any)
	results, _ := out[list].([]any)
	var merged []any
	for i, e := range all {
		switch {
		case i%2 == 1:
			merged = append(merged, refused(e.(map[string]any)))
		case list == "Entries" && i/2 < len(results):
			merged = append(merged, results[i/2])
		}
	}
	out[list] = merged
	if list == "Entries" {
		out["FailedEntryCount"] = len(all) / 2
	}
	return encode(out)
}

func halfOfKeys(body []byte) []byte {
	in := decode(body)
	for _, t := range in["RequestItems"].(map[string]any) {
		table := t.(map[string]any)
		keys := table["Keys"].([]any)
		table["Keys"] = keys[:(len(keys)+1)/2]
	}
	return encode(in)
}

func unprocessedKeys(body, answer []byte) (int, []byte) {
	out, left := decode(answer), map[string]any{}
	for name, t := range decode(body)["RequestItems"].(map[string]any) {
		table := t.(map[string]any)
		keys := table["Keys"].([]any)
		if rest := keys[(len(keys)+1)/2:]; len(rest) > 0 {
			table["Keys"] = rest
			left[name] = table
		}
	}
	out["UnprocessedKeys"] = left
	return http.StatusOK, encode(out)
}

func decode(text []byte) (v map[string]any) {
	json.Unmarshal(text, &v)
	return v
}

func encode(v map[string]any) []byte {
	text, _ := json.Marshal(v)
	return text
}
