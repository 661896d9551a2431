package webhook

import (
	"errors"
	"slices"
	"testing"
	"time"

	"baton/internal/task"
)

func TestWhichEventsAHookIsToldOf(t *testing.T) {
	mine, other := task.NewID(), task.NewID()
	const created, sent, alias = task.EventCreated, task.EventSentUpdated, task.EventUpdated
	for _, row := range []struct {
		name   string
		events []task.EventType
		only   task.ID
		off    bool
		event  task.EventType
		sees   task.ID
		legacy bool
		want   []task.EventType
	}{
		{"one it asked for", []task.EventType{created}, task.ID{}, false, created, other, false, []task.EventType{created}},
		{"none it did not ask for", []task.EventType{created}, task.ID{}, false, sent, other, false, nil},
		{"none while disabled", []task.EventType{created}, task.ID{}, true, created, other, false, nil},
		{"its identity's", []task.EventType{created}, mine, false, created, mine, false, []task.EventType{created}},
		{"not another identity's", []task.EventType{created}, mine, false, created, other, false, nil},
		{"under the alias, if that is all it asked for", []task.EventType{alias}, task.ID{}, false, sent, other, false, []task.EventType{alias}},
		{"the same in an organization with legacy events", []task.EventType{alias}, task.ID{}, false, sent, other, true, []task.EventType{alias}},
		{"once, if it asked for both", []task.EventType{sent, alias}, task.ID{}, false, sent, other, false, []task.EventType{sent}},
		{"twice, if its organization wants legacy events", []task.EventType{sent, alias}, task.ID{}, false, sent, other, true, []task.EventType{sent, alias}},
		{"never by the alias if it did not ask for it", []task.EventType{sent}, task.ID{}, false, sent, other, true, []task.EventType{sent}},
		{"not another identity's under the alias", []task.EventType{alias}, mine, false, sent, other, true, nil},
		{"the alias stands for nothing else", []task.EventType{alias}, task.ID{}, false, created, other, true, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := Hook{Events: row.events, Identity: row.only, Enabled: !row.off}
			if got := h.Types(row.event, row.sees, row.legacy); !slices.Equal(got, row.want) {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}

func TestParseEvents(t *testing.T) {
	t.Run("keeps a fixed order", func(t *testing.T) {
		got, err := ParseEvents([]string{"webhook.disabled", "a2a.task.updated", "a2a.task.created"})
		want := []task.EventType{task.EventCreated, task.EventUpdated, EventDisabled}
		if err != nil || !slices.Equal(got, want) {
			t.Error(got, err)
		}
	})
	for _, row := range []struct {
		name   string
		in     []string
		fields []string
	}{
		{"nothing", nil, []string{"events"}},
		{"an unknown one", []string{"a2a.task.created", "a2a.task.exploded"}, []string{"events[1]"}},
		{"one in another case", []string{"A2A.task.created"}, []string{"events[0]"}},
		{"one twice", []string{"a2a.task.created", "a2a.task.created"}, []string{"events[1]"}},
		{"several wrong ones", []string{"", "*"}, []string{"events[0]", "events[1]"}},
		{"far too many", slices.Repeat([]string{"a2a.task.created"}, 13)[:13], nil},
	} {
		t.Run("refuses "+row.name, func(t *testing.T) {
			_, err := ParseEvents(row.in)
			var wrong task.Invalid
			if !errors.As(err, &wrong) {
				t.Fatal(err)
			}
			var fields []string
			for _, f := range wrong {
				fields = append(fields, f.Field)
			}
			if row.fields != nil && !slices.Equal(fields, row.fields) {
				t.Errorf("%v", wrong)
			}
		})
	}
}

func TestAHookThatOnlyFailsIsDisabled(t *testing.T) {
	fine := Outcome{Result: Delivered, Status: 200}
	gone := Outcome{Result: Gone, Status: 410}
	day := 24 * time.Hour
	healthy := Hook{Enabled: true}
	failing := Hook{Enabled: true, FailingSince: start}
	for _, row := range []struct {
		name    string
		hook    Hook
		outcome Outcome
		tries   int
		at      time.Duration
		enabled bool
		reason  Reason
		since   bool
		changed bool
	}{
		{"a success changes nothing", healthy, fine, 1, day, true, "", false, false},
		{"the first failure starts the clock", healthy, failed(), 1, day, true, "", true, true},
		{"later failures don't touch it", failing, failed(), 4, day, true, "", true, false},
		{"a success stops it", failing, fine, 4, 6 * day, true, "", false, true},
		{"just under 5 days is not enough", failing, failed(), 8, 5*day - 1, true, "", true, false},
		{"5 days are", failing, failed(), 4, 5 * day, false, ReasonFailing, true, true},
		{"a first failure after quiet days is not", failing, failed(), 3, 9 * day, true, "", true, false},
		{"a 410 is, at once", healthy, gone, 1, 0, false, ReasonGone, false, true},
		{"what is disabled stays as it is", Hook{}, fine, 1, day, false, "", false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, changed := row.hook.After(row.outcome, row.tries, start.Add(row.at))
			if got.Enabled != row.enabled || got.Disabled != row.reason || got.FailingSince.IsZero() == row.since || changed != row.changed {
				t.Errorf("%+v, %t", got, changed)
			}
			if changed != got.UpdatedAt.Equal(start.Add(row.at)) {
				t.Errorf("updated at %s", got.UpdatedAt)
			}
		})
	}
	t.Run("its owner enables it anew, with the full patience", func(t *testing.T) {
		off, _ := failing.After(failed(), 8, start.Add(6*day))
		on := off.Enable(true, start.Add(7*day))
		if !on.Enabled || on.Disabled != "" || !on.FailingSince.IsZero() {
			t.Errorf("%+v", on)
		}
		again, _ := on.After(failed(), 8, start.Add(8*day))
		if !again.Enabled {
			t.Error("disabled by one failure")
		}
	})
}
