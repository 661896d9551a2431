package envelope_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"baton/internal/envelope"
	"baton/internal/task"
)

func event(message, result task.Clip) task.Event {
	org := task.NewID()
	handle := strings.Repeat("h", 32)
	return task.Event{
		ID: task.NewID(), Type: task.EventSentUpdated, Organization: org, Identity: task.NewID(), Sequence: 1 << 40,
		Task: task.NewID(), Context: task.NewID(), Version: 999_999, State: task.InputRequired, At: time.Now(),
		MessageID: task.NewID(), Message: message, Result: result, Replay: true,
		Caller: task.Caller{Party: task.Party{Identity: task.NewID(), Organization: org, Handle: handle}},
		Target: task.Party{Identity: task.NewID(), Organization: task.NewID(), Handle: handle},
	}
}

type decoded struct {
	Payload struct {
		Message, Result  *string
		MessageTruncated bool `json:"message_truncated"`
		Caller           struct {
			TrustTier string `json:"trust_tier"`
		}
	}
}

func TestMarshalFits(t *testing.T) {
	long := func(s string) task.Clip { return task.Clip{Text: strings.Repeat(s, 400_000/len(s))} }
	none, short := task.Clip{None: true}, task.Clip{Text: "short"}
	for name, c := range map[string]struct {
		message, result task.Clip
		cut             bool
	}{
		"no text at all":                 {none, none, false},
		"short ones":                     {short, short, false},
		"a text that was cut before":     {task.Clip{Text: "short", Cut: true}, short, true},
		"a long message":                 {long("a"), short, true},
		"a long result":                  {short, long("a"), true},
		"both long":                      {long("日"), long("𝔘"), true},
		"characters that are escaped":    {long("\"\\\n\x01\u2028"), long("\u2029<&>"), true},
		"replacement characters":         {long("\ufffd"), none, true},
		"just what fits beside the rest": {task.Clip{Text: strings.Repeat("x", 60_000)}, short, false},
	} {
		t.Run(name, func(t *testing.T) {
			text := envelope.Marshal(event(c.message, c.result))
			if len(text) > envelope.MaxBytes {
				t.Errorf("%d bytes, want at most %d", len(text), envelope.MaxBytes)
			}
			if c.cut && strings.Contains(name, "long") && len(text) < envelope.MaxBytes-20 {
				t.Errorf("only %d bytes of %d are used", len(text), envelope.MaxBytes)
			}
			var d decoded
			if err := json.Unmarshal(text, &d); err != nil {
				t.Fatal(err)
			}
			if d.Payload.MessageTruncated != c.cut {
				t.Errorf("message_truncated is %v, want %v", d.Payload.MessageTruncated, c.cut)
			}
			for _, pair := range []struct {
				got  *string
				want task.Clip
			}{{d.Payload.Message, c.message}, {d.Payload.Result, c.result}} {
				switch {
				case pair.got == nil:
					if !pair.want.None {
						t.Error("a text is missing")
					}
				case !strings.HasPrefix(pair.want.Text, *pair.got), !utf8.ValidString(*pair.got):
					t.Errorf("…%q is not the beginning, in whole characters", (*pair.got)[max(0, len(*pair.got)-9):])
				case !c.cut && *pair.got != pair.want.Text:
					t.Error("cut without need")
				}
			}
		})
	}
}

func FuzzMarshalFits(f *testing.F) {
	f.Add("a", "b", 1)
	f.Add("\u2028\x00", "\U0010ffff\"", 20_000)
	f.Fuzz(func(t *testing.T, message, result string, times int) {
		message, result = strings.ToValidUTF8(message, ""), strings.ToValidUTF8(result, "")
		times = max(1, min(times, 500_000/(1+len(message)+len(result))))
		m, r := task.Clip{Text: strings.Repeat(message, times)}, task.Clip{Text: strings.Repeat(result, times)}
		text := envelope.Marshal(event(m, r))
		var d decoded
		if err := json.Unmarshal(text, &d); err != nil || len(text) > envelope.MaxBytes {
			t.Fatalf("%d bytes, %v", len(text), err)
		}
		if !strings.HasPrefix(m.Text, *d.Payload.Message) || !strings.HasPrefix(r.Text, *d.Payload.Result) {
			t.Fatal("not the beginnings")
		}
	})
}
