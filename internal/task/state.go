package task

// State is where a task stands, which also says who moves next.
type State string

const (
	Submitted     State = "submitted"      // sent; the worker moves next
	Working       State = "working"        // taken up; the worker moves next
	InputRequired State = "input_required" // the worker asked; the requester moves next
	Completed     State = "completed"      // done, with artifacts; nobody moves again
	Failed        State = "failed"         // could not be done; nobody moves again
	Canceled      State = "canceled"       // withdrawn by the requester; nobody moves again
	Rejected      State = "rejected"       // declined by the worker before it said anything; nobody moves again
)

// States lists every state once, open ones first.
var States = []State{Submitted, Working, InputRequired, Completed, Failed, Canceled, Rejected}

// next holds every state's allowed successors, itself included where a write may leave the state as it is.
// A state without successors is terminal.
var next = map[State][]State{
	Submitted:     {Submitted, Working, InputRequired, Completed, Failed, Canceled, Rejected},
	Working:       {Working, InputRequired, Completed, Failed, Canceled, Rejected},
	InputRequired: {InputRequired, Working, Completed, Failed, Canceled, Rejected},
	Completed:     nil,
	Failed:        nil,
	Canceled:      nil,
	Rejected:      nil,
}

// Valid says whether s is one of States.
func (s State) Valid() bool { _, ok := next[s]; return ok }

// Terminal says whether s is final and sealed: no write changes a task that reached it.
func (s State) Terminal() bool { return len(next[s]) == 0 }

// Waiting says whether a waiting call goes on: the worker has not answered yet (contract section 2, "Wait").
func (s State) Waiting() bool { return s == Submitted || s == Working }

// May says whether a task may go from s to the state to.
func (s State) May(to State) bool {
	for _, allowed := range next[s] {
		if allowed == to {
			return true
		}
	}
	return false
}

// Intent is what a worker's reply means; it implies the state that follows.
type Intent string

const (
	Progress  Intent = "progress"
	AskCaller Intent = "ask_caller"
	Complete  Intent = "complete"
	Fail      Intent = "fail"
	Reject    Intent = "reject"
)

// Intents lists every intent with the state it leads to.
var Intents = map[Intent]State{
	Progress:  Working,
	AskCaller: InputRequired,
	Complete:  Completed,
	Fail:      Failed,
	Reject:    Rejected,
}

// Role says who wrote a message.
type Role string

const (
	ByCaller Role = "caller" // the requester
	ByAgent  Role = "agent"  // the worker
)
