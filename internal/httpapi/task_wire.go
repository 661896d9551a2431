package httpapi

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"baton/internal/task"

	"github.com/go-json-experiment/json/jsontext"
)

// The shapes of contract section 2 as they are on the wire.
type taskWire struct {
	ID               string          `json:"id"`
	ContextID        string          `json:"context_id"`
	TargetIdentityID string          `json:"target_identity_id"`
	CallerIdentityID string          `json:"caller_identity_id"`
	State            task.State      `json:"state"`
	Message          *string         `json:"message"`
	Result           *string         `json:"result"`
	Caller           callerWire      `json:"caller"`
	Target           partyWire       `json:"target"`
	CallerHandle     string          `json:"caller_handle,omitzero"` // of list items only
	TargetHandle     string          `json:"target_handle,omitzero"`
	Artifacts        *[]artifactWire `json:"artifacts,omitzero"` // not of list items
	Question         *string         `json:"question"`
	Error            *string         `json:"error"`
	CompletedAt      *string         `json:"completed_at"`
	HistoryTruncated bool            `json:"history_truncated"`
	Clipped          bool            `json:"clipped,omitzero"`
	CreatedAt        string          `json:"created_at"`
	UpdatedAt        string          `json:"updated_at"`
	Messages         *[]messageWire  `json:"messages,omitzero"` // not of list items, nor of minimal answers
}

type callerWire struct {
	partyWire `json:",inline"`
	Verified  bool   `json:"verified"`
	TrustTier string `json:"trust_tier"`
}

type partyWire struct {
	IdentityID     string `json:"identity_id"`
	OrganizationID string `json:"organization_id"`
	Handle         string `json:"handle"`
}

type artifactWire struct {
	ID    string     `json:"id"`
	Name  string     `json:"name"`
	Parts []partWire `json:"parts"`
}

type messageWire struct {
	ID               string         `json:"id"`
	MessageID        *string        `json:"message_id"`
	Role             task.Role      `json:"role"`
	Parts            []partWire     `json:"parts"`
	Metadata         jsontext.Value `json:"metadata"`
	Extensions       []string       `json:"extensions"`
	ReferenceTaskIDs []string       `json:"reference_task_ids"`
	CreatedAt        string         `json:"created_at"`
}

type partWire struct {
	Text     *string        `json:"text,omitzero"`
	Data     jsontext.Value `json:"data,omitzero"`
	File     *fileWire      `json:"file,omitzero"`
	Metadata jsontext.Value `json:"metadata,omitzero"`
}

type fileWire struct {
	URI   string `json:"uri,omitzero"`
	Bytes string `json:"bytes,omitzero"`
	Name  string `json:"name,omitzero"`
	MIME  string `json:"mime,omitzero"`
}

// timestamp is RFC 3339 in UTC with milliseconds.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// timestampOrNull is null for no time.
func timestampOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(timestamp(t))
}

// headWire is what list items and single-task answers have in common, the texts clipped.
func headWire(t task.Task) taskWire {
	w := taskWire{
		ID: t.ID.String(), ContextID: t.Context.String(),
		TargetIdentityID: t.Target.Identity.String(), CallerIdentityID: t.Caller.Identity.String(),
		State: t.State, Message: textOf(t.Request), Result: textOf(t.Result),
		Caller:      callerWire{partyOf(t.Caller.Party), t.Caller.Verified, t.TrustTier()},
		Target:      partyOf(t.Target),
		CompletedAt: timestampOrNull(t.CompletedAt), CreatedAt: timestamp(t.CreatedAt), UpdatedAt: timestamp(t.UpdatedAt),
	}
	w.Clipped = t.Request.Cut || t.Result.Cut
	if question, ok := t.Question(); ok {
		w.Question = textOf(question)
	}
	if failure, ok := t.Failure(); ok {
		w.Error = textOf(failure)
	}
	return w
}

func itemWire(t task.Task) taskWire {
	w := headWire(t)
	w.CallerHandle, w.TargetHandle = t.Caller.Handle, t.Target.Handle
	return w
}

// viewWire is a single task. A minimal one is clipped like a list's, and has no messages.
func viewWire(v task.View) taskWire {
	w := headWire(v.Task)
	artifacts := []artifactWire{}
	if v.Artifact != nil {
		artifacts = append(artifacts, artifactWire{v.Artifact.ID.String(), "result", partsWire(v.Artifact.Parts)})
	}
	w.Artifacts = &artifacts
	if v.Minimal {
		w.HistoryTruncated = v.Task.Messages > 0
		return w
	}
	w.Clipped = false
	if w.Message != nil {
		w.Message = &v.FirstText
	}
	if w.Result != nil {
		w.Result = &v.LatestText
	}
	if w.Question != nil {
		w.Question = &v.LatestText
	}
	if w.Error != nil {
		w.Error = &v.LatestText
	}
	w.HistoryTruncated = v.Truncated
	w.Messages = new(messagesWire(v.History))
	return w
}

// shrink leaves out the oldest message, or when there is but one, the rest of long texts, as lists do: they stand in
// messages and artifacts too.
func (w *taskWire) shrink() bool {
	if w.Messages != nil && len(*w.Messages) > 1 {
		*w.Messages = (*w.Messages)[1:]
		w.HistoryTruncated = true
		return true
	}
	was := w.Clipped
	for _, text := range []**string{&w.Message, &w.Result, &w.Question, &w.Error} {
		if *text == nil {
			continue
		}
		if clip := task.NewClip(**text); clip.Cut {
			*text, w.Clipped = &clip.Text, true
		}
	}
	return w.Clipped && !was
}

func textOf(c task.Clip) *string {
	if c.None {
		return nil
	}
	return &c.Text
}

func partyOf(p task.Party) partyWire {
	return partyWire{p.Identity.String(), p.Organization.String(), p.Handle}
}

func messagesWire(ms []task.Message) []messageWire {
	out := make([]messageWire, len(ms))
	for i, m := range ms {
		out[i] = messageWire{
			ID: m.ID.String(), Role: m.Role, Parts: partsWire(m.Parts), Metadata: m.Metadata,
			Extensions: m.Extensions, ReferenceTaskIDs: m.ReferenceTaskIDs, CreatedAt: timestamp(m.CreatedAt),
		}
		if m.MessageID != "" {
			out[i].MessageID = &m.MessageID
		}
	}
	return out
}

func partsWire(ps []task.Part) []partWire {
	out := make([]partWire, len(ps))
	for i, p := range ps {
		out[i] = partWire{Text: p.Text, Data: p.Data, Metadata: p.Metadata}
		if f := p.File; f != nil {
			out[i].File = &fileWire{f.URI, f.Bytes, f.Name, f.MIME}
		}
	}
	return out
}

// taskAnswer is a single task with its version as ETag.
func taskAnswer(status int, v task.View) answer {
	w := viewWire(v)
	header := map[string]string{"ETag": `"` + strconv.Itoa(v.Version) + `"`}
	if v.Minimal {
		header["Preference-Applied"] = "return=minimal"
	}
	return answer{status: status, header: header, body: &w}
}

// deprecated marks an answer of a route that has a better one (RFC 9745).
func deprecated(a answer) answer {
	a.header["Deprecation"] = "@1767225600" // 2026-01-01: they were deprecated before this service began
	return a
}

// minimal says whether the caller wants a write answered without messages (RFC 7240).
func (c *call) minimal() bool {
	for preference := range strings.SplitSeq(c.header["prefer"], ",") {
		preference, _, _ = strings.Cut(preference, ";") // no parameter is known
		name, value, _ := strings.Cut(preference, "=")
		if strings.EqualFold(strings.TrimSpace(name), "return") {
			return strings.Trim(strings.TrimSpace(value), `"`) == "minimal"
		}
	}
	return false
}

// edit is on which task a write is made, and by whom: the first of the steps that every write of a task begins with.
func (c *call) edit() (task.Edit, error) {
	i, err := c.actor()
	if err != nil {
		return task.Edit{}, err
	}
	e := task.Edit{
		Viewer:  task.Viewer{Identity: i.ID, Organization: i.Organization.ID, Side: c.route.Side},
		Minimal: c.minimal(),
	}
	if err := c.noQuery(); err != nil {
		return task.Edit{}, err
	}
	e.IfVersions, err = c.ifMatch()
	return e, err
}

// on sets the task of the path, of which a principal without the route's right may only learn that it may not.
func (c *call) on(e *task.Edit, tasks Tasks) (err error) {
	if c.forbidden { // whether there is such a task is not for this caller to know
		return c.may()
	}
	if e.Task, err = c.taskID(); err != nil {
		return err
	}
	if err := c.may(); err != nil {
		if _, gone := tasks.Read(c, e.Viewer, e.Task, true); gone != nil {
			return gone
		}
		return err
	}
	return nil
}

// ifMatch is the versions that the header If-Match allows, nil for any (RFC 9110, 13.1.1: strong comparison).
func (c *call) ifMatch() ([]int, error) {
	header, there := c.header["if-match"]
	if !there || strings.TrimSpace(header) == "*" {
		return nil, nil
	}
	return versions("If-Match", header, false)
}

// ifNoneMatch says of which versions the caller needs no answer, having them; those are answered with 304 (RFC 9110,
// 13.1.2: weak comparison, and * for any).
func (c *call) ifNoneMatch() (had func(version int) bool, err error) {
	header, there := c.header["if-none-match"]
	switch {
	case !there:
		return func(int) bool { return false }, nil
	case strings.TrimSpace(header) == "*":
		return func(int) bool { return true }, nil
	}
	all, err := versions("If-None-Match", header, true)
	return func(version int) bool { return slices.Contains(all, version) }, err
}

// versions are those of a list of ETags; 0, which no task has, stands for one that is not ours, or is weak where that
// is not enough.
func versions(field, header string, weakIsFine bool) ([]int, error) {
	all := []int{}
	for tag := range strings.SplitSeq(header, ",") {
		tag, weak := strings.CutPrefix(strings.TrimSpace(tag), "W/")
		if len(tag) < 2 || tag[0] != '"' || tag[len(tag)-1] != '"' || strings.Contains(tag[1:len(tag)-1], `"`) {
			return nil, invalid(field, `must be * or ETags such as "3"`)
		}
		opaque := tag[1 : len(tag)-1]
		version, err := strconv.Atoi(opaque)
		if weak && !weakIsFine || err != nil || strconv.Itoa(version) != opaque {
			version = 0
		}
		all = append(all, version)
	}
	return all, nil
}

// noQuery refuses query parameters.
func (c *call) noQuery() error { return c.params().err() }
