package httpapi

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"baton/internal/task"
)

// params reads query parameters; what is wrong with them adds up in bad.
type params struct {
	query url.Values
	bad   task.Invalid
}

// params takes those parameters that the endpoint knows, once each; any other is wrong.
func (c *call) params(known ...string) *params {
	p := &params{query: c.query}
	var unknown []string
	for name := range c.query {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		p.wrong(name, "is not a parameter of this route")
	}
	for _, name := range c.repeated {
		p.wrong(name, "is given more than once")
	}
	return p
}

func (p *params) wrong(name, message string) {
	p.bad = append(p.bad, task.FieldError{Field: name, Message: message})
}

// err is all that was wrong, nil when nothing was.
func (p *params) err() error {
	if p.bad == nil {
		return nil
	}
	return p.bad
}

func (p *params) has(name string) bool { return p.query.Has(name) }

// integer is from least to most, or the default when it isn't given.
func (p *params) integer(name string, least, most, otherwise int) int {
	if !p.has(name) {
		return otherwise
	}
	text := p.query.Get(name)
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most || strconv.Itoa(n) != text {
		p.wrong(name, wholeNumber(least, most))
	}
	return n
}

func wholeNumber(least, most int) string {
	return fmt.Sprintf("must be a whole number from %d to %d", least, most)
}

func (p *params) time(name string) time.Time {
	if !p.has(name) {
		return time.Time{}
	}
	// A plus that wasn't escaped arrives as a space, which no time has.
	t, err := time.Parse(time.RFC3339Nano, strings.ReplaceAll(p.query.Get(name), " ", "+"))
	if err != nil {
		p.wrong(name, "must be a time of RFC 3339, such as 2026-09-27T10:00:00Z")
	}
	if epoch := time.UnixMilli(0); t.Before(epoch) {
		return epoch // nothing here is as old
	}
	return t
}

func (p *params) id(name string) task.ID {
	if !p.has(name) {
		return task.ID{}
	}
	id, ok := task.GivenID(p.query.Get(name))
	if !ok {
		p.wrong(name, "must be a UUID")
	}
	return id
}

// oneOf is one of the allowed texts, or empty when it isn't given.
func oneOf[T ~string](p *params, name string, allowed ...T) T {
	if !p.has(name) {
		return ""
	}
	value := T(p.query.Get(name))
	if !slices.Contains(allowed, value) {
		var names []string
		for _, a := range allowed {
			names = append(names, string(a))
		}
		p.wrong(name, "must be one of "+strings.Join(names, ", "))
	}
	return value
}
