package relay_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"baton/internal/directory"
	"baton/internal/localaws"
	"baton/internal/relay"
	"baton/internal/task"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
)

func TestEachBusHasAnArchiveWhereDaysAreGivenForIt(t *testing.T) {
	config, faults := localaws.Config(t)
	config.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	plain := relay.NewMaker(eventbridge.NewFromConfig(config), nil)
	o := directory.Organization{ID: task.NewID(), Bus: directory.Bus{Name: localaws.Unique("baton-test")}}

	if bus := plain.Archiving(0).Create(t.Context(), o); bus.Status != directory.BusActive || faults.Count("CreateArchive") != 0 {
		t.Errorf("without days: bus %+v, %d archives", bus, faults.Count("CreateArchive"))
	}
	maker := plain.Archiving(30)
	faults.On("CreateArchive").Times(1).Fail(http.StatusBadRequest, "LimitExceededException")
	if bus := maker.Create(t.Context(), o); bus.Status != directory.BusPending {
		t.Errorf("a bus that can't be archived is %+v", bus)
	}
	for range 2 { // made, then found made
		if bus := maker.Create(t.Context(), o); bus.Status != directory.BusActive {
			t.Errorf("bus is %+v", bus)
		}
	}
	for _, c := range faults.Calls() {
		if c.Operation != "CreateArchive" {
			continue
		}
		var in struct {
			ArchiveName, EventSourceArn string
			RetentionDays               int
		}
		if err := json.Unmarshal(c.Request, &in); err != nil {
			t.Fatal(err)
		}
		if in.ArchiveName != o.ID.String() || in.RetentionDays != 30 || in.EventSourceArn != "arn:aws:events:us-east-1:000000000000:event-bus/"+o.Bus.Name {
			t.Errorf("archive is %+v", in)
		}
	}
}
