package task

import (
	"fmt"
	"unicode/utf8"
)

// The limits of contract section 2; exactly at a limit is allowed.
const (
	MaxParts      = 64
	MaxText       = 262_144   // code points of one text part
	MaxPart       = 256 << 10 // bytes of a data or file part as compact JSON
	MaxMessage    = 1 << 20   // bytes of the whole message as compact JSON
	MaxDepth      = 32        // levels of containers inside data
	MaxExtensions = 32
	MaxReferences = 32
	MaxMessageID  = 256 // code points
	MaxMessages   = 500 // of one task
	MaxTasks      = 100 // of one context
)

// Draft is a message as its author gives it.
type Draft struct {
	MessageID        string
	Parts            []Part
	Metadata         []byte
	Extensions       []string
	ReferenceTaskIDs []string
}

// Check returns an Invalid that names every field over a limit, or nil. It takes Data and Metadata to be valid
// compact JSON, and every string to be valid UTF-8.
func (d Draft) Check() error {
	var bad Invalid
	add := func(field, format string, args ...any) {
		bad = append(bad, FieldError{field, fmt.Sprintf(format, args...)})
	}
	if n := utf8.RuneCountInString(d.MessageID); n > MaxMessageID {
		add("message_id", "has %d characters, more than %d", n, MaxMessageID)
	}
	if len(d.Parts) == 0 {
		add("parts", "must have 1 to %d parts", MaxParts)
	}
	if len(d.Parts) > MaxParts {
		add("parts", "has %d parts, more than %d", len(d.Parts), MaxParts)
	}
	for i, p := range d.Parts {
		p.check(fmt.Sprintf("parts[%d]", i), add)
	}
	if depth := jsonDepth(d.Metadata); depth > MaxDepth {
		add("metadata", "is nested %d levels deep, more than %d", depth, MaxDepth)
	}
	if len(d.Extensions) > MaxExtensions {
		add("extensions", "has %d entries, more than %d", len(d.Extensions), MaxExtensions)
	}
	if len(d.ReferenceTaskIDs) > MaxReferences {
		add("reference_task_ids", "has %d entries, more than %d", len(d.ReferenceTaskIDs), MaxReferences)
	}
	if n := d.size(); n > MaxMessage {
		add("parts", "make a message of %d bytes as compact JSON, more than %d", n, MaxMessage)
	}
	if bad != nil {
		return bad
	}
	return nil
}

func (p Part) check(field string, add func(field, format string, args ...any)) {
	kinds := 0
	if p.Text != nil {
		kinds++
		if n := utf8.RuneCountInString(*p.Text); n < 1 || n > MaxText {
			add(field+".text", "has %d characters; it must have 1 to %d", n, MaxText)
		}
	}
	if p.Data != nil {
		kinds++
		if depth := jsonDepth(p.Data); depth > MaxDepth {
			add(field+".data", "is nested %d levels deep, more than %d", depth, MaxDepth)
		}
	}
	if p.File != nil {
		kinds++
		if (p.File.URI == "") == (p.File.Bytes == "") {
			add(field+".file", "must have exactly one of uri and bytes")
		}
	}
	if kinds != 1 {
		add(field, "must be exactly one of text, data and file")
	}
	if depth := jsonDepth(p.Metadata); depth > MaxDepth {
		add(field+".metadata", "is nested %d levels deep, more than %d", depth, MaxDepth)
	}
	if n := p.size(); p.Text == nil && n > MaxPart {
		add(field, "is %d bytes as compact JSON, more than %d", n, MaxPart)
	}
}

// size is the length of the draft as compact UTF-8 JSON, with the fields that were given.
func (d Draft) size() int {
	n := objectSize{}
	n.str("message_id", d.MessageID)
	if d.Parts != nil {
		parts := len("[]") + max(0, len(d.Parts)-1)
		for _, p := range d.Parts {
			parts += p.size()
		}
		n.field("parts", parts)
	}
	n.raw("metadata", d.Metadata)
	n.strs("extensions", d.Extensions)
	n.strs("reference_task_ids", d.ReferenceTaskIDs)
	return n.total()
}

func (p Part) size() int {
	n := objectSize{}
	if p.Text != nil {
		n.field("text", stringSize(*p.Text))
	}
	n.raw("data", p.Data)
	if p.File != nil {
		f := objectSize{}
		f.str("uri", p.File.URI)
		f.str("bytes", p.File.Bytes)
		f.str("name", p.File.Name)
		f.str("mime", p.File.MIME)
		n.field("file", f.total())
	}
	n.raw("metadata", p.Metadata)
	return n.total()
}

// objectSize adds up the length of a compact JSON object.
type objectSize struct{ fields, bytes int }

func (o *objectSize) field(name string, value int) {
	o.fields++
	o.bytes += len(name) + len(`"":`) + value
}

func (o *objectSize) str(name, value string) {
	if value != "" {
		o.field(name, stringSize(value))
	}
}

func (o *objectSize) raw(name string, value []byte) {
	if value != nil {
		o.field(name, len(value))
	}
}

func (o *objectSize) strs(name string, values []string) {
	if values == nil {
		return
	}
	n := len("[]") + max(0, len(values)-1)
	for _, v := range values {
		n += stringSize(v)
	}
	o.field(name, n)
}

func (o *objectSize) total() int { return len("{}") + o.bytes + max(0, o.fields-1) }

// stringSize is the length of s as a JSON string with only the escapes that RFC 8259 demands.
func stringSize(s string) int {
	n := len(`""`) + len(s)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\b', c == '\f', c == '\n', c == '\r', c == '\t':
			n++
		case c < 0x20:
			n += len(`\u0000`) - 1
		}
	}
	return n
}

// jsonDepth is how many levels of containers valid JSON has.
func jsonDepth(raw []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[', c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']', c == '}':
			depth--
		}
	}
	return deepest
}
