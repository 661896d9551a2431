package task

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNotices(t *testing.T) {
	caller, target := Party{Identity: NewID()}, Party{Identity: NewID()}
	for _, row := range []struct {
		cause    Cause
		resumed  bool
		toWorker EventType // "" for none
		toCaller EventType
	}{
		{CauseSent, false, EventCreated, ""},
		{CauseMessage, false, EventMessage, ""},
		{CauseMessage, true, EventMessage, EventSentUpdated},
		{CauseReply, false, "", EventSentUpdated},
		{CauseSet, false, "", EventSentUpdated},
		{CauseClaimed, false, "", EventSentUpdated},
		{CauseCanceled, false, EventCanceled, EventSentUpdated},
	} {
		var want []Notice
		if row.toWorker != "" {
			want = append(want, Notice{row.toWorker, target})
		}
		if row.toCaller != "" {
			want = append(want, Notice{row.toCaller, caller})
		}
		c := Change{Cause: row.cause, Resumed: row.resumed, Caller: Caller{Party: caller}, Target: target}
		if got := c.Notices(); !slices.Equal(got, want) {
			t.Errorf("%s, resumed %v: got %v, want %v", row.cause, row.resumed, got, want)
		}
	}
}

func TestVisibleTo(t *testing.T) {
	us, them, strangers := NewID(), NewID(), NewID()
	caller, target, colleague := NewID(), NewID(), NewID()
	v := Task{
		Caller: Caller{Party: Party{Identity: caller, Organization: us}},
		Target: Party{Identity: target, Organization: them},
	}
	for _, row := range []struct {
		who    string
		viewer Viewer
		want   bool
	}{
		{"the requester", Viewer{caller, us, EitherSide, ID{}}, true},
		{"the requester among what it sent", Viewer{caller, us, Sent, ID{}}, true},
		{"the requester among what it received", Viewer{caller, us, Received, ID{}}, false},
		{"the worker", Viewer{target, them, EitherSide, ID{}}, true},
		{"the worker among what it received", Viewer{target, them, Received, ID{}}, true},
		{"the worker among what it sent", Viewer{target, them, Sent, ID{}}, false},
		{"a colleague of the requester", Viewer{colleague, us, EitherSide, ID{}}, false},
		{"the requester's organization", Viewer{ID{}, us, EitherSide, ID{}}, true},
		{"the worker's organization", Viewer{ID{}, them, EitherSide, ID{}}, true},
		{"another organization", Viewer{ID{}, strangers, EitherSide, ID{}}, false},
		{"another organization's agent", Viewer{NewID(), strangers, EitherSide, ID{}}, false},
	} {
		if got := v.VisibleTo(row.viewer); got != row.want {
			t.Errorf("%s: %v", row.who, got)
		}
	}
}

func TestTrustTier(t *testing.T) {
	us, them := NewID(), NewID()
	for _, row := range []struct {
		caller   ID
		verified bool
		want     string
	}{
		{them, false, "same_organization"}, {them, true, "same_organization"}, {us, true, "verified"}, {us, false, "unverified"},
	} {
		v := Task{Caller: Caller{Party{Organization: row.caller}, row.verified}, Target: Party{Organization: them}}
		if got := v.TrustTier(); got != row.want {
			t.Errorf("got %s, want %s", got, row.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, row := range []struct{ what, text, want string }{
		{"200 characters stay", strings.Repeat("x", 200), strings.Repeat("x", 200)},
		{"201 are cut", strings.Repeat("x", 201), strings.Repeat("x", 200)},
		{"256 bytes stay", strings.Repeat("é", 128), strings.Repeat("é", 128)},
		{"258 bytes are cut at a character", strings.Repeat("語", 86), strings.Repeat("語", 85)},
		{"four bytes a character", strings.Repeat("😀", 65), strings.Repeat("😀", 64)},
		{"an empty text is one", "", ""},
	} {
		c := NewClip(row.text)
		if c.Text != row.want || c.Cut != (row.text != row.want) || c.None || !utf8.ValidString(c.Text) {
			t.Errorf("%s: got %+v", row.what, c)
		}
	}
}

func TestNewest(t *testing.T) {
	sized := func(n int) Message { return says(strings.Repeat("x", n)) }
	many := make([]Message, 101)
	for i := range many {
		many[i] = sized(1)
	}
	overhead := sized(0).Size()
	half := sized(NewestBytes/2 - overhead)
	for _, row := range []struct {
		what string
		ms   []Message
		kept int
	}{
		{"none", nil, 0},
		{"100 stay", many[1:], 100},
		{"101 don't", many, 100},
		{"1 MiB stays", []Message{half, half}, 2},
		{"a byte more doesn't", []Message{half, sized(NewestBytes/2 - overhead + 1)}, 1},
		{"the newest is always there", []Message{half, sized(MaxMessage)}, 1},
	} {
		kept, cut := Newest(row.ms)
		if len(kept) != row.kept || cut != (row.kept < len(row.ms)) {
			t.Errorf("%s: kept %d, cut %v", row.what, len(kept), cut)
		}
		if row.kept > 0 && kept[row.kept-1].ID != row.ms[len(row.ms)-1].ID {
			t.Errorf("%s: the newest is not the last", row.what)
		}
	}
}

// A history that was cut before a write is cut behind it, however short.
func TestAWriteOfACutHistory(t *testing.T) {
	for _, cut := range []bool{false, true} {
		v := View{Task: newTask(), History: []Message{says("please")}, Truncated: cut}
		now, change, err := v.Task.add(says("more"), noon)
		if got := v.after(now, change); err != nil || got.Truncated != cut || len(got.History) != 2 || len(v.History) != 1 {
			t.Errorf("cut before: %v, behind: %v, %d messages, %v", cut, got.Truncated, len(got.History), err)
		}
	}
}

func TestID(t *testing.T) {
	id := NewID()
	for _, s := range []string{id.String(), strings.ToUpper(id.String())} {
		if got, ok := ParseID(s); !ok || got != id {
			t.Errorf("%s: got %s, %v", s, got, ok)
		}
	}
	for _, s := range []string{
		"", "x", id.String()[1:], id.String() + "0", strings.ReplaceAll(id.String(), "-", ""), "g" + id.String()[1:],
		strings.Replace(id.String(), "-", "0", 1), "{" + id.String()[:34] + "}", " " + id.String()[1:],
	} {
		if got, ok := ParseID(s); ok || !got.IsZero() {
			t.Errorf("%q: got %s, %v", s, got, ok)
		}
	}
	if v := id[6] >> 4; v != 4 || id[8]>>6 != 2 {
		t.Errorf("%s is not of version 4", id)
	}
}

func TestGivenID(t *testing.T) {
	const none = "00000000-0000-0000-0000-000000000000"
	if id, ok := GivenID(none); !ok || id.IsZero() || id.String() != "ffffffff-ffff-ffff-ffff-ffffffffffff" {
		t.Errorf("the nil UUID is %s, %v", id, ok)
	}
	if id, ok := ParseID(none); !ok || !id.IsZero() {
		t.Errorf("as stored it is %s, %v", id, ok)
	}
	want := NewID()
	if id, ok := GivenID(want.String()); !ok || id != want {
		t.Errorf("%s is %s, %v", want, id, ok)
	}
	if _, ok := GivenID("x"); ok {
		t.Error("x is an id")
	}
}

func TestSendID(t *testing.T) {
	a, b := NewID(), NewID()
	id := SendID(a, b, "1")
	if id != SendID(a, b, "1") {
		t.Error("the same send gives another id")
	}
	for what, other := range map[string]ID{
		"another message id": SendID(a, b, "2"), "the other direction": SendID(b, a, "1"), "another worker": SendID(a, NewID(), "1"),
	} {
		if other == id {
			t.Errorf("%s gives the same id", what)
		}
	}
	if v := id[6] >> 4; v != 8 || id[8]>>6 != 2 {
		t.Errorf("%s is not of version 8", id)
	}
}

func TestHasSeen(t *testing.T) {
	m := says("please")
	m.MessageID = "1"
	v, _ := sent(NewID(), NewID(), Caller{}, Party{}, m, noon)
	for _, row := range []struct {
		by   Role
		id   string
		want bool
	}{{ByCaller, "1", true}, {ByAgent, "1", false}, {ByCaller, "2", false}, {ByCaller, "", false}} {
		if got := v.HasSeen(row.by, row.id); got != row.want {
			t.Errorf("%s %q: %v", row.by, row.id, got)
		}
	}
}
