package directory

// Right is something that a key may be asked for; the rows of the table in contract section 1.
type Right string

const (
	ReadTasks       Right = "read tasks" // messages, contexts and events too
	WriteTasks      Right = "write tasks"
	ReadAccess      Right = "read connections and access rules"
	WriteAccess     Right = "write connections and access rules"
	ReadWebhooks    Right = "read webhooks"
	WriteWebhooks   Right = "write webhooks"
	ReadIdentities  Right = "read identities"
	EditProfile     Right = "edit an identity's profile"
	WriteIdentities Right = "write identities"
	ReadKeys        Right = "read keys"
	WriteKeys       Right = "write keys"
	ReadOrg         Right = "read the organization"
	WriteOrg        Right = "write the organization" // replay, export and purge too
	RunService      Right = "create, verify and suspend organizations"
	Discover        Right = "discover"
)

// Caller is a column of that table: an agent's key, an org key of one role, or the operator's.
type Caller string

const (
	ByAgent    Caller = "agent"
	ByViewer   Caller = "viewer"
	ByMember   Caller = "member"
	ByAdmin    Caller = "admin"
	ByOperator Caller = "operator"
)

// Rights lists who may do what. An agent's key has its rights on its own identity alone, an org key on its
// organization alone, the operator's key on every organization.
var Rights = map[Right][]Caller{
	ReadTasks:       {ByAgent, ByViewer, ByMember, ByAdmin},
	WriteTasks:      {ByAgent, ByMember, ByAdmin},
	ReadAccess:      {ByAgent, ByViewer, ByMember, ByAdmin},
	WriteAccess:     {ByAgent, ByMember, ByAdmin},
	ReadWebhooks:    {ByViewer, ByMember, ByAdmin},
	WriteWebhooks:   {ByAdmin},
	ReadIdentities:  {ByAgent, ByViewer, ByMember, ByAdmin},
	EditProfile:     {ByAgent, ByAdmin},
	WriteIdentities: {ByAdmin},
	ReadKeys:        {ByMember, ByAdmin},
	WriteKeys:       {ByAdmin},
	ReadOrg:         {ByViewer, ByMember, ByAdmin, ByOperator},
	WriteOrg:        {ByAdmin, ByOperator},
	RunService:      {ByOperator},
	Discover:        {ByAgent, ByViewer, ByMember, ByAdmin, ByOperator},
}

// Caller is the column of Rights that the principal stands in.
func (p Principal) Caller() Caller {
	switch p.Kind {
	case Agent:
		return ByAgent
	case Operator:
		return ByOperator
	}
	return Caller(p.Role)
}

// May says whether the principal's kind of key has the right at all; on whom it has it is for the caller to see to.
func (p Principal) May(r Right) bool {
	for _, c := range Rights[r] {
		if c == p.Caller() {
			return true
		}
	}
	return false
}
