package relay_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"baton/internal/directory"
	"baton/internal/localaws"
	"baton/internal/relay"
	"baton/internal/store"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
)

func TestOrganizationWithoutRoomForABus(t *testing.T) {
	config, faults := localaws.Config(t)
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	buses := eventbridge.NewFromConfig(config)
	organizations := store.NewDirectory(dynamodb.NewFromConfig(config), localaws.NewTable(t, "DirectoryTable"))
	maker := relay.NewMaker(buses, organizations)
	now := time.Now
	service := directory.NewService(organizations, directory.Options{
		Mint: directory.NewMint("stamp"), Now: now, Remember: time.Minute, Stage: localaws.Unique("t"), Buses: maker,
	})
	sweeper := directory.NewSweeper(organizations, nil, maker, now)
	operator := directory.Principal{Kind: directory.Operator}

	faults.On("CreateEventBus").Times(2).Fail(http.StatusBadRequest, "LimitExceededException")
	made, err := service.CreateOrganization(t.Context(), operator, directory.OrganizationEdit{Name: new("Acme"), AWSAccountID: new("111122223333")})
	if err != nil {
		t.Fatal(err)
	}
	if made.Bus.Status != directory.BusPending || made.Bus.ARN != "" {
		t.Errorf("bus is %+v, want pending", made.Bus)
	}
	if _, err := service.Authenticate(t.Context(), made.Secret); err != nil {
		t.Errorf("first key: %v", err)
	}
	for _, want := range []directory.BusStatus{directory.BusPending, directory.BusActive} {
		if err := sweeper.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if o, err := organizations.Organization(t.Context(), made.ID); err != nil || o.Bus.Status != want {
			t.Errorf("bus is %+v, %v; want %s", o.Bus, err, want)
		}
	}
	if jobs, err := organizations.Jobs(t.Context()); err != nil || len(jobs) != 0 {
		t.Errorf("%v left, %v", jobs, err)
	}
	if _, err := buses.DescribeEventBus(t.Context(), &eventbridge.DescribeEventBusInput{Name: &made.Bus.Name}); err != nil {
		t.Errorf("the bus: %v", err)
	}
	if err := maker.MakeBus(t.Context(), made.ID); err != nil {
		t.Errorf("a bus that is there: %v", err)
	}
	if err := maker.MakeBus(t.Context(), directory.Organization{}.ID); !errors.Is(err, relay.ErrNoBus) {
		t.Errorf("a bus of nobody: %v", err)
	}
}

func TestAccountMayPutRulesOnItsBusAlone(t *testing.T) {
	config, faults := localaws.Config(t)
	buses := eventbridge.NewFromConfig(config)
	maker := relay.NewMaker(buses, nil)
	o := directory.Organization{AWSAccountID: "111122223333", Bus: directory.Bus{Name: localaws.Unique("baton-test")}}
	if bus := maker.Create(t.Context(), o); bus.Status != directory.BusActive || !strings.HasSuffix(bus.ARN, ":event-bus/"+o.Bus.Name) {
		t.Fatalf("bus is %+v", bus)
	}
	var policy struct {
		Statement []struct {
			Effect    string
			Principal struct{ AWS string }
			Action    []string
			Resource  string
			Condition struct{ StringEqualsIfExists map[string]string }
		}
	}
	for _, c := range faults.Calls() {
		if c.Operation == "PutPermission" {
			var in struct{ EventBusName, Policy string }
			if err := json.Unmarshal(c.Request, &in); err != nil || in.EventBusName != o.Bus.Name {
				t.Fatalf("%s, %v", c.Request, err)
			}
			if err := json.Unmarshal([]byte(in.Policy), &policy); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(policy.Statement) != 1 {
		t.Fatalf("%d statements", len(policy.Statement))
	}
	s := policy.Statement[0]
	if s.Principal.AWS != "arn:aws:iam::111122223333:root" || s.Effect != "Allow" ||
		s.Resource != "arn:aws:events:us-east-1:000000000000:rule/"+o.Bus.Name+"/*" ||
		s.Condition.StringEqualsIfExists["events:creatorAccount"] != "111122223333" {
		t.Errorf("the account gets %+v", s)
	}
	if !slices.Contains(s.Action, "events:PutRule") {
		t.Errorf("the account may only %v", s.Action)
	}
	for _, action := range s.Action {
		if action == "events:PutEvents" || strings.Contains(action, "*") || strings.Contains(action, "Permission") || strings.HasSuffix(action, "EventBus") {
			t.Errorf("the account may %s", action)
		}
	}
	faults.Reset()
	o.AWSAccountID = ""
	if bus := maker.Create(t.Context(), o); bus.Status != directory.BusActive || faults.Count("RemovePermission") != 1 {
		t.Errorf("without an account: bus %+v, rights taken back %d times", bus, faults.Count("RemovePermission"))
	}
}
