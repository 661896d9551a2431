package rights

import (
	"slices"
	"strings"
	"testing"

	"baton/internal/localstack"
)

// small is a role with a permission of each kind, and the calls that use all of them.
const small = `{"Version": "2012-10-17", "Statement": [
	{"Effect": "Allow", "Action": "dynamodb:Query", "Resource": ["arn:t", "arn:t/index/sent"]},
	{"Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:PutItem"], "Resource": "arn:d",
		"Condition": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["K#*", "J"]}}},
	{"Effect": "Allow", "Action": "events:PutEvents", "Resource": "arn:event-bus/baton-local-*"}
]}`

func smallCalls() []Call {
	call := func(action, resource string, keys ...string) Call {
		return Call{"small-1", action, resource, keys, true}
	}
	return []Call{
		call("dynamodb:Query", "arn:t"), call("dynamodb:Query", "arn:t/index/sent"),
		call("dynamodb:GetItem", "arn:d", "K#*"), call("dynamodb:GetItem", "arn:d", "J", "K#*"),
		call("dynamodb:PutItem", "arn:d", "J"), call("dynamodb:PutItem", "arn:d", "K#*"),
		call("events:PutEvents", "arn:event-bus/baton-local-*"),
	}
}

func smallRole() localstack.Role {
	return localstack.Role{LogicalID: "SmallFunctionRole", Name: "small-1", Policies: []localstack.Policy{
		{Name: "SmallFunctionRolePolicy0", Document: small}, {Name: "AWSLambdaBasicExecutionRole", ByAWS: true},
	}}
}

// withStreams are the roles without which rows of byLambda would be idle.
func withStreams(role localstack.Role) []localstack.Role {
	logs := localstack.Policy{Name: "AWSLambdaBasicExecutionRole", ByAWS: true}
	return []localstack.Role{role,
		{LogicalID: "RelayEventsFunctionRole", Policies: []localstack.Policy{logs, {Name: "AWSLambdaDynamoDBExecutionRole", ByAWS: true}}},
		{LogicalID: "DeliverWebhooksFunctionRole", Policies: []localstack.Policy{logs, {Name: "AWSLambdaSQSQueueExecutionRole", ByAWS: true}}},
	}
}

func TestAnExactRoleIsFine(t *testing.T) {
	judged, wrong := Judge(withStreams(smallRole()), smallCalls())
	if wrong != nil {
		t.Error(wrong)
	}
	if tried, unnoticed := Unnoticed(judged); unnoticed != nil || tried < 7+7*3 {
		t.Errorf("of %d changes went unnoticed: %v", tried, unnoticed)
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		role  func(*localstack.Role)
		calls func([]Call) []Call
		want  string
	}{
		"refused": {calls: func(c []Call) []Call { return append(c, Call{"small-1", "dynamodb:Scan", "arn:t", nil, false}) },
			want: "SmallFunctionRole was refused dynamodb:Scan on arn:t"},
		"another table": {calls: func(c []Call) []Call { c[0].Resource = "arn:u"; return c }, want: "SmallFunctionRole lacks dynamodb:Query on arn:u"},
		"another key": {calls: func(c []Call) []Call { c[2].Keys = []string{"O#*"}; return c },
			want: "SmallFunctionRole lacks dynamodb:GetItem on arn:d with keys O#*"},
		"never used": {calls: func(c []Call) []Call { return c[1:] }, want: "SmallFunctionRole never used dynamodb:Query on arn:t"},
		"of others":  {calls: func(c []Call) []Call { c[0].Role = "large-1"; return c }, want: "SmallFunctionRole never used dynamodb:Query on arn:t"},
		"twice": {role: func(r *localstack.Role) { r.Policies = append(r.Policies, r.Policies[0]) },
			want: "SmallFunctionRole has twice dynamodb:Query on arn:t"},
		"no condition": {role: func(r *localstack.Role) {
			r.Policies = append(r.Policies, localstack.Policy{Name: "Wide", Document: `{"Statement":[{"Effect":"Allow","Action":"dynamodb:GetItem","Resource":"arn:d"}]}`})
		}, want: "SmallFunctionRole never used dynamodb:GetItem on arn:d"},
		"a wildcard": {role: func(r *localstack.Role) {
			r.Policies[0].Document = strings.Replace(small, "arn:t/index/sent", "arn:t/index/*", 1)
		},
			want: "SmallFunctionRole never used dynamodb:Query on arn:t/index/*"},
		"a wider wildcard": {role: func(r *localstack.Role) {
			r.Policies[0].Document = strings.Replace(small, "baton-local-*", "baton-*", 1)
		},
			want: "SmallFunctionRole never used events:PutEvents on arn:event-bus/baton-*"},
		"a policy of AWS": {role: func(r *localstack.Role) {
			r.Policies = append(r.Policies, localstack.Policy{Name: "AWSLambdaSQSQueueExecutionRole", ByAWS: true})
		}, want: "SmallFunctionRole has AWSLambdaSQSQueueExecutionRole, which Lambda needs for other functions, or none"},
		"no log": {role: func(r *localstack.Role) { r.Policies = r.Policies[:1] }, want: "SmallFunctionRole lacks AWSLambdaBasicExecutionRole: Lambda writes the function's log"},
	} {
		role, calls := smallRole(), smallCalls()
		if c.role != nil {
			c.role(&role)
		}
		if c.calls != nil {
			calls = c.calls(calls)
		}
		if _, wrong := Judge(withStreams(role), calls); !slices.Contains(wrong, c.want) {
			t.Errorf("%s: %q, want %q", name, wrong, c.want)
		}
	}
	if _, wrong := Judge([]localstack.Role{smallRole()}, smallCalls()); len(wrong) != 2 {
		t.Errorf("rows of byLambda for roles that are not there: %q", wrong)
	}
}

func TestWhatCanNotBeJudgedIsAnError(t *testing.T) {
	for _, statement := range []string{
		`{"Effect":"Deny","Action":"dynamodb:Query","Resource":"arn:t"}`,
		`{"Effect":"Allow","NotAction":"dynamodb:Query","Resource":"arn:t"}`,
		`{"Effect":"Allow","Action":"dynamodb:Query","NotResource":"arn:t"}`,
		`{"Effect":"Allow","Action":"dynamodb:Query","Resource":"arn:t","Condition":{"StringEquals":{"dynamodb:LeadingKeys":"J"}}}`,
		`{"Effect":"Allow","Action":"dynamodb:Query","Resource":"arn:t","Condition":{"ForAllValues:StringLike":{"dynamodb:LeadingKeys":["J"],"dynamodb:Select":"COUNT"}}}`,
		`{"Effect":"Allow","Action":5,"Resource":"arn:t"}`,
	} {
		if grants, err := Grants(`{"Statement":[` + statement + `]}`); err == nil {
			t.Errorf("%s: %v", statement, grants)
		}
	}
}
