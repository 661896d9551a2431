package httpapi

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"reflect"
	"strconv"
	"strings"

	"baton/internal/task"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// decode reads the body into a struct, strictly: unknown fields, wrong types, bad UTF-8, lone surrogates, duplicate keys
// and anything behind the value are a task.Invalid that names the field. A null is as good as nothing. emptyIsFine
// allows a body of no bytes.
func (c *call) decode(into any, emptyIsFine bool) error {
	if len(c.body) == 0 && emptyIsFine {
		return nil
	}
	media, parameters, err := mime.ParseMediaType(c.header["content-type"])
	if err != nil || media != "application/json" || parameters["charset"] != "" && !strings.EqualFold(parameters["charset"], "utf-8") {
		return refusal{status: 415, code: codeMediaType, detail: "A body must be application/json in UTF-8."}
	}
	if coding, there := c.header["content-encoding"]; there && !strings.EqualFold(coding, "identity") {
		return refusal{status: 415, code: codeMediaType, detail: "A body can't be compressed: Content-Encoding must be left out."}
	}
	if trimmed := bytes.TrimLeft(c.body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return invalid("body", "must be a JSON object")
	}
	err = json.Unmarshal(c.body, into, json.RejectUnknownMembers(true))
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName):
		return invalid(fieldOf(semantic.JSONPointer), "is not a field of this request")
	case errors.As(err, &semantic):
		return invalid(fieldOf(semantic.JSONPointer), "must be "+kindOf(semantic.GoType)+", not "+kindName(semantic.JSONKind))
	case errors.As(err, &syntactic):
		return invalid(fieldOf(syntactic.JSONPointer), syntaxMessage(syntactic))
	}
	return invalid("body", "can't be read as JSON")
}

// syntaxMessage is what is wrong with a text as JSON. The library's own words quote what was sent.
func syntaxMessage(err *jsontext.SyntacticError) string {
	at := fmt.Sprintf(" (at byte %d)", err.ByteOffset)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "is given more than once" + at
	case strings.Contains(err.Error(), "UTF-8"):
		return "has bytes that are not UTF-8" + at
	case strings.Contains(err.Error(), "surrogate"):
		return "has half of a surrogate pair" + at
	}
	return "is not valid JSON" + at
}

// fieldOf writes a JSON pointer as paths are written in code: parts[2].data.x. The whole is "body".
func fieldOf(p jsontext.Pointer) string {
	var field strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.Atoi(token); err == nil && field.Len() > 0 {
			fmt.Fprintf(&field, "[%s]", token)
			continue
		}
		if field.Len() > 0 {
			field.WriteByte('.')
		}
		field.WriteString(token)
	}
	if field.Len() == 0 {
		return "body"
	}
	const longest = 200
	if s := field.String(); len(s) > longest {
		return strings.ToValidUTF8(s[:longest], "") + "…"
	}
	return field.String()
}

func kindOf(t reflect.Type) string {
	if t == nil {
		return "another type"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Int, reflect.Int64, reflect.Int32:
		return "a whole number"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "another type"
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "that"
}

// messageBody is what every request with a message has: message for plain text, or parts.
type messageBody struct {
	Message          *string        `json:"message"`
	Parts            []partBody     `json:"parts"`
	MessageID        *string        `json:"message_id"`
	Metadata         jsontext.Value `json:"metadata"`
	Extensions       []string       `json:"extensions"`
	ReferenceTaskIDs []string       `json:"reference_task_ids"`
}

type partBody struct {
	Text     *string        `json:"text"`
	Data     jsontext.Value `json:"data"`
	File     *fileBody      `json:"file"`
	Metadata jsontext.Value `json:"metadata"`
}

type fileBody struct {
	URI   *string `json:"uri"`
	Bytes *string `json:"bytes"`
	Name  *string `json:"name"`
	MIME  *string `json:"mime"`
}

// draft checks the message of a body. Without one it is a task.Invalid, unless noneIsFine: then the draft has no parts.
func (c *call) draft(b messageBody, noneIsFine bool) (task.Draft, error) {
	var bad task.Invalid
	add := func(field, message string) { bad = append(bad, task.FieldError{Field: field, Message: message}) }
	d := task.Draft{Extensions: b.Extensions, ReferenceTaskIDs: b.ReferenceTaskIDs}
	id, err := c.messageID(b.MessageID)
	if err != nil {
		return task.Draft{}, err
	}
	d.MessageID = id
	d.Metadata = object("metadata", b.Metadata, add)
	switch {
	case b.Message != nil && b.Parts != nil:
		add("message", "and parts can't both be given")
	case b.Message != nil:
		d.Parts = []task.Part{{Text: b.Message}}
	case b.Parts != nil:
		for i, p := range b.Parts {
			d.Parts = append(d.Parts, p.part(fmt.Sprintf("parts[%d]", i), add))
		}
	case !noneIsFine:
		add("message", "or parts must be given")
	}
	for i, s := range b.Extensions {
		if s == "" {
			add(fmt.Sprintf("extensions[%d]", i), "must not be empty")
		}
	}
	for i, s := range b.ReferenceTaskIDs {
		if s == "" {
			add(fmt.Sprintf("reference_task_ids[%d]", i), "must not be empty")
		}
	}
	if bad != nil {
		return task.Draft{}, bad
	}
	if noneIsFine && b.Message == nil && b.Parts == nil {
		if len(d.MessageID) == 0 && d.Metadata == nil && d.Extensions == nil && d.ReferenceTaskIDs == nil {
			return d, nil
		}
		// Everything else must be within its limits all the same.
		filler := "x"
		check := d
		check.Parts = []task.Part{{Text: &filler}}
		return d, check.Check()
	}
	err = d.Check()
	if errors.As(err, &bad) && b.Message != nil {
		for i := range bad {
			if strings.HasPrefix(bad[i].Field, "parts") {
				bad[i].Field = "message"
			}
		}
		return d, bad
	}
	return d, err
}

func (p partBody) part(field string, add func(field, message string)) task.Part {
	part := task.Part{Text: p.Text, Data: compact(p.Data), Metadata: object(field+".metadata", p.Metadata, add)}
	if f := p.File; f != nil {
		part.File = &task.File{}
		for _, s := range []struct {
			name     string
			from, to *string
		}{
			{"uri", f.URI, &part.File.URI}, {"bytes", f.Bytes, &part.File.Bytes},
			{"name", f.Name, &part.File.Name}, {"mime", f.MIME, &part.File.MIME},
		} {
			if s.from == nil {
				continue
			}
			*s.to = *s.from
			if *s.from == "" {
				add(field+".file."+s.name, "must not be empty")
			}
		}
		if f.Bytes != nil {
			if _, err := base64.StdEncoding.Strict().DecodeString(*f.Bytes); err != nil {
				add(field+".file.bytes", "must be base64")
			}
		}
	}
	return part
}

// object takes a JSON object or null, which is nothing.
func object(field string, v jsontext.Value, add func(field, message string)) []byte {
	switch {
	case v == nil || v.Kind() == 'n':
		return nil
	case v.Kind() != '{':
		add(field, "must be an object")
		return nil
	}
	return compact(v)
}

// compact takes the space out of valid JSON and gives strings their shortest form; digits and the order of keys stay.
func compact(v jsontext.Value) []byte {
	if v == nil {
		return nil
	}
	v = v.Clone()
	if err := v.Format(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return v // can't be: it was decoded
	}
	return v
}

// messageID is the caller's own id for what it writes, from the body or from the header Idempotency-Key.
func (c *call) messageID(fromBody *string) (string, error) {
	header, there := c.header["idempotency-key"]
	switch {
	case !there && fromBody == nil:
		return "", nil
	case c.repeats("idempotency-key"): // of two ids neither is the one
		return "", invalid("Idempotency-Key", "is given more than once")
	case there && fromBody != nil && header != *fromBody:
		return "", invalid("Idempotency-Key", "and message_id are the same thing and must agree")
	}
	id, field := header, "Idempotency-Key"
	if fromBody != nil {
		id, field = *fromBody, "message_id"
	}
	if n := len([]rune(id)); n < 1 || n > task.MaxMessageID {
		return "", invalid(field, fmt.Sprintf("has %d characters; it must have 1 to %d", n, task.MaxMessageID))
	}
	return id, nil
}
