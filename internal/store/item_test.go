package store

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"baton/internal/search"
	"baton/internal/task"
)

// scripts have one to four bytes a character.
var scripts = []string{"x", "é", "語", "😀"}

func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// longestHead is a head with everything that it may have, in a script.
func longestHead(script string, fingerprints int) head {
	handle := strings.Repeat("h", 32)
	text := task.NewClip(strings.Repeat(script, 300))
	h := head{
		Task: task.Task{
			ID: task.NewID(), Context: task.NewID(), Version: 999_999, State: task.Working,
			Caller: task.Caller{
				Party:    task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: handle},
				Verified: true,
			},
			Target:    task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: handle},
			CreatedAt: now(), UpdatedAt: now(), Request: text, Result: text, ResultChange: 999_998, ReplyHasText: true,
			WorkerSpoke: true, Messages: task.MaxMessages,
			Lease: &task.Lease{ID: task.NewID(), ExpiresAt: now(), Length: time.Hour},
		},
		attempt: newAttempt(), spilled: 492, words: search.NewSignature(newSignature),
	}
	for i := range fingerprints {
		h.own = append(h.own, task.Fingerprint(rand.Uint64()|uint64(i)))
	}
	h.Seen = h.own
	return h
}

// A head that fits into one write unit is what a write's budget of 8 rests on. However many fingerprints it has, it
// fits once fit has had its way.
func TestHeadFits(t *testing.T) {
	for _, script := range scripts {
		for fingerprints := range 40 {
			h := longestHead(script, fingerprints)
			spill := h.fit()
			h.own = h.own[spill:]
			if again := h.fit(); again != 0 {
				t.Errorf("%s: of %d fingerprints %d must go, and then %d", script, fingerprints, spill, again)
			}
			if size := h.size(); size > unit || h.words.Size() < leastSignature {
				t.Errorf("%s: %d bytes with a signature of %d and %d of %d fingerprints", script, size, h.words.Size(), len(h.own), fingerprints)
			}
			if spill > 0 && fingerprints < fewOwn {
				t.Errorf("%s: %d fingerprints are too many", script, fingerprints)
			}
		}
		h := longestHead(script, fewOwn-1)
		h.fit()
		t.Logf("%s: %d bytes with %d fingerprints, signature of %d", script, h.size(), len(h.own), h.words.Size())
	}
}

func TestHeadRoundTrip(t *testing.T) {
	for _, change := range []func(*head){
		func(*head) {},
		func(h *head) { h.Lease = nil },
		func(h *head) { h.Lease = &task.Lease{Length: time.Minute}; h.State = task.InputRequired },
		func(h *head) { h.own, h.Seen = nil, nil },
		func(h *head) { h.Request, h.Result = task.Clip{None: true}, task.Clip{} },
		func(h *head) { h.Caller.Verified, h.ReplyHasText, h.WorkerSpoke = false, false, false },
		func(h *head) {
			h.State, h.Lease, h.CompletedAt, h.Artifacts = task.Completed, nil, h.UpdatedAt, h.Version
		},
		func(h *head) { h.State, h.Lease, h.CompletedAt = task.Rejected, nil, h.UpdatedAt },
		func(h *head) { h.State, h.Lease, h.ResultChange = task.Submitted, nil, 0 },
	} {
		want := longestHead("é", 5)
		change(&want)
		got, err := parseTask(want.item())
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(got.words.Bytes(), want.words.Bytes()) {
			t.Error("the signature differs")
		}
		got.words, want.words = nil, nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

// Whatever is stored of a state comes back as it, and no two states share a code.
func TestStateCodes(t *testing.T) {
	seen := map[byte]task.State{}
	for _, s := range task.States {
		codes := codesOf(s)
		if len(codes) == 0 {
			t.Errorf("%s has no code", s)
		}
		for _, code := range codes {
			if other, taken := seen[code]; taken || stateOfCode[code] != s {
				t.Errorf("code %c of %s is %s's and %s's", code, s, other, stateOfCode[code])
			}
			seen[code] = s
		}
	}
	if all := codesOf(""); len(all) != len(seen) || len(stateOfCode) != len(seen) {
		t.Errorf("%d codes in all, %d of states", len(all), len(seen))
	}
}

func TestCauses(t *testing.T) {
	for _, c := range []task.Cause{
		task.CauseSent, task.CauseMessage, task.CauseReply, task.CauseSet, task.CauseClaimed, task.CauseCanceled,
	} {
		if causes[causeCode(c)] != c {
			t.Errorf("%s comes back as %s", c, causes[causeCode(c)])
		}
	}
}

// noise is text that compression makes hardly smaller.
func noise(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(' ' + rand.IntN('~'-' '+1))
	}
	return string(b)
}

func TestChangeRoundTrip(t *testing.T) {
	h := longestHead("語", 0)
	base := task.Change{
		Task: h.ID, Context: h.Context, Number: 7, Cause: task.CauseReply, State: task.Working, At: now(),
		Caller: h.Caller, Target: h.Target, Result: h.Result, ResultChange: 3,
	}
	message := func(parts ...task.Part) *task.Message {
		return &task.Message{ID: task.NewID(), Role: task.ByAgent, CreatedAt: base.At, Parts: parts}
	}
	text := func(s string) task.Part { return task.Part{Text: &s} }
	awkward := "a\"\\\x00\x1f</script>&\u2028\u2029 é語😀\U0010FFFF"
	full := message(
		text(awkward), task.Part{Data: []byte(`{"b":1.50e+1,"a":[12345678901234567890,0.1000],"a":null}`)},
		task.Part{File: &task.File{URI: "https://example.com/x?a=1&b=<2>", Name: awkward, MIME: "text/plain"}},
		task.Part{File: &task.File{Bytes: "AAEC", Name: "n"}, Metadata: []byte(`{"k":"<&>"}`)},
	)
	full.MessageID, full.Metadata = awkward, []byte(`{"z":1,"a":2}`)
	full.Extensions, full.ReferenceTaskIDs = []string{"x", awkward}, []string{}
	large := message()
	for range 4 {
		large.Parts = append(large.Parts, text(noise(250<<10)))
	}
	for what, row := range map[string]struct {
		message *task.Message
		items   int
	}{
		"none":              {nil, 1},
		"everything":        {full, 1},
		"an empty text":     {message(text("")), 1},
		"long and ordinary": {message(text(strings.Repeat("all work and no play ", 10_000))), 1},
		"1 MB of noise":     {large, 3},
	} {
		t.Run(what, func(t *testing.T) {
			want := base
			want.Message = row.message
			if row.message != nil {
				if _, ok := row.message.Text(); ok {
					said, _ := row.message.Text()
					want.Result, want.ResultChange = task.NewClip(said), want.Number
				}
			}
			items, err := changeItems(want)
			if err != nil {
				t.Fatal(err)
			}
			if len(items) != row.items {
				t.Errorf("%d items, want %d", len(items), row.items)
			}
			got, err := parseChangeHead(items[0])
			if err != nil {
				t.Fatal(err)
			}
			for i, item := range items {
				if size := itemSize(item); size > 400<<10 {
					t.Errorf("item %d has %d bytes", i, size)
				}
				if _, marked := item[attrChange]; marked != (i == 0) {
					t.Errorf("item %d: the stream's mark is there: %v", i, marked)
				}
				if i == 0 {
					continue
				}
				if got.whole() {
					t.Errorf("whole before item %d", i)
				}
				if err := got.addPart(item, i); err != nil {
					t.Fatal(err)
				}
			}
			change, err := got.change()
			if err != nil || !reflect.DeepEqual(change, want) {
				t.Errorf("%v\ngot  %+v\nwant %+v", err, change, want)
			}
		})
	}
}

// A change with the longest names and a text as long as a clip costs one unit, in any script.
func TestChangeFits(t *testing.T) {
	for _, script := range scripts {
		h := longestHead(script, 0)
		text := h.Result.Text
		c := task.Change{
			Task: h.ID, Context: h.Context, Number: 500, Cause: task.CauseMessage, State: task.Working, At: now(),
			Caller: h.Caller, Target: h.Target, Result: h.Result, ResultChange: 499,
			Message: &task.Message{ID: task.NewID(), Role: task.ByCaller, Parts: []task.Part{{Text: &text}}, MessageID: strings.Repeat("m", 36)},
		}
		items, err := changeItems(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", script, itemSize(items[0]))
		if size := itemSize(items[0]); size > unit {
			t.Errorf("%s: %d bytes", script, size)
		}
	}
}

func TestSortKeys(t *testing.T) {
	order := []string{
		changeSortKey(1), changePartKey(1, 1), changePartKey(1, 2), changeSortKey(2), changeSortKey(10), changeSortKey(999_999),
		ledgerSortKey(0), ledgerSortKey(4), headSort, wordsSort,
	}
	for i, key := range order {
		if i > 0 && order[i-1] >= key {
			t.Errorf("%s is not before %s", order[i-1], key)
		}
	}
	for _, bad := range []string{"", "C", "C#", "C#12345", "C#00000x", "C#000001#", "C#000001#x", "C#0000012", "T", "M#0"} {
		if n, part, err := parseChangeSort(bad); err == nil {
			t.Errorf("%q: change %d, part %d", bad, n, part)
		}
	}
	if n, part, err := parseChangeSort(changePartKey(12, 3)); n != 12 || part != 3 || err != nil {
		t.Error(n, part, err)
	}
}

// Garbage in the table is an error, never a panic and never a task.
func TestMalformedItems(t *testing.T) {
	h := longestHead("x", 3)
	c := task.Change{Task: h.ID, Number: 1, Cause: task.CauseSent, State: task.Submitted, At: now(), Message: &task.Message{Parts: []task.Part{{Data: []byte("1")}}}}
	items, err := changeItems(c)
	if err != nil {
		t.Fatal(err)
	}
	for name := range h.item() {
		if name == attrSort || name == attrCaller || name == attrTarget || name == attrRequest || name == attrResult ||
			name == attrFingerprints || name == attrWords || name == attrAttempt {
			continue // may be absent, or is not looked at
		}
		item := h.item()
		delete(item, name)
		if got, err := parseTask(item); err == nil {
			t.Errorf("head without %s: %+v", name, got)
		}
		item[name] = stringValue("wrong")
		if got, err := parseTask(item); err == nil {
			t.Errorf("head with a wrong %s: %+v", name, got)
		}
	}
	for cut := range len((&logReader{item: items[0]}).bytes(attrChange)) {
		broken := taskKey(c.Task, changeSortKey(1))
		broken[attrChange] = binaryValue((&logReader{item: items[0]}).bytes(attrChange)[:cut])
		if got, err := parseChangeHead(broken); err == nil {
			t.Errorf("change cut at %d: %s", cut, fmt.Sprint(got))
		}
	}
}
