package task

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
	"unicode/utf8"
)

// Task is one piece of work that a requester (Caller) asked of a worker (Target): its state and everything a
// list shows, without its messages. Handles, Verified and organizations are as of the send.
type Task struct {
	ID      ID
	Context ID
	// Version counts the accepted changes, and is the number of the newest one. The ETag.
	Version int
	State   State
	Caller  Caller
	Target  Party

	CreatedAt   time.Time // times are UTC in whole milliseconds
	UpdatedAt   time.Time // strictly grows with every change
	CompletedAt time.Time // zero while open

	Request Clip // the first request's text
	Result  Clip // the latest worker text
	// ResultChange is the number of the change that holds the latest worker text, 0 without one.
	ResultChange int
	// ReplyHasText says that the worker's newest reply had text: then Result is the question of a task that
	// is InputRequired, and the error of one that Failed or was Rejected.
	ReplyHasText bool
	// WorkerSpoke says that a worker's message stands on the task; it can't be rejected any more.
	WorkerSpoke bool
	// Artifacts is the number of the change whose parts are the artifacts, 0 when the task isn't Completed by a message.
	Artifacts int

	Messages int // how many messages stand on the task
	// Lease is nil unless the task was claimed. See Lease.
	Lease *Lease
	// Seen holds the fingerprints of every message id on the task, in the order of acceptance.
	Seen []Fingerprint
}

// Party is one of the two identities of a task.
type Party struct {
	Identity     ID
	Organization ID
	Handle       string
}

// Caller is the requester, with what the worker may know of its organization.
type Caller struct {
	Party
	Verified bool // its organization had a verified owner
}

// TrustTier is how far the worker may trust the requester: "same_organization", "verified" or "unverified".
func (t Task) TrustTier() string {
	switch {
	case t.Caller.Organization == t.Target.Organization:
		return "same_organization"
	case t.Caller.Verified:
		return "verified"
	}
	return "unverified"
}

// Question is the open question's text; ok is false when there is none.
func (t Task) Question() (text Clip, ok bool) {
	return t.Result, t.State == InputRequired && t.ReplyHasText
}

// Failure is the ending reply's text of a task that failed or was rejected; ok is false when there is none.
func (t Task) Failure() (text Clip, ok bool) {
	return t.Result, (t.State == Failed || t.State == Rejected) && t.ReplyHasText
}

// Lease is the right of one claimer to work on a task.
type Lease struct {
	// ID is what the claimer names in its replies. It is zero while nobody holds the task: the worker asked
	// the requester something, or the answer came and the task waits to be claimed again.
	ID ID
	// ExpiresAt is when another may claim the task.
	ExpiresAt time.Time
	Length    time.Duration // by how much a renewal moves ExpiresAt from now
}

// Clip is a text as lists show it: at most 200 characters and 256 bytes of UTF-8.
type Clip struct {
	Text string
	Cut  bool // Text is only the beginning
	None bool // there is no text at all
}

const (
	clipRunes = 200 // contract section 2, "List items"
	clipBytes = 256
)

// NewClip clips text, at a character.
func NewClip(text string) Clip {
	runes := 0
	for i, r := range text {
		if runes == clipRunes || i+utf8.RuneLen(r) > clipBytes {
			return Clip{Text: text[:i], Cut: true}
		}
		runes++
	}
	return Clip{Text: text}
}

// Fingerprint stands for one author's message id on one task. 64 bits, so that it is exact in practice: an author
// could only ever collide with itself.
type Fingerprint uint64

// NewFingerprint returns the fingerprint of a message id by an author.
func NewFingerprint(by Role, messageID string) Fingerprint {
	sum := sha256.Sum256([]byte(string(by) + "\x00" + messageID))
	return Fingerprint(binary.BigEndian.Uint64(sum[:]))
}

// HasSeen says whether a message with this id by this author is already on the task.
func (t Task) HasSeen(by Role, messageID string) bool {
	if messageID == "" {
		return false
	}
	f := NewFingerprint(by, messageID)
	for _, seen := range t.Seen {
		if seen == f {
			return true
		}
	}
	return false
}

// Side narrows which tasks a path shows: those that the identity received, those that it sent, or both.
type Side int

const (
	EitherSide Side = iota
	Received
	Sent
)

// Viewer is who looks at tasks: an agent, or (Identity zero) a whole organization.
type Viewer struct {
	Identity     ID
	Organization ID
	Side         Side
	Target       ID // only tasks that this worker received, zero for any
}

// VisibleTo says whether the viewer may know that the task exists (contract section 1, "Visibility").
func (t Task) VisibleTo(v Viewer) bool {
	is := func(p Party) bool {
		if v.Identity.IsZero() {
			return p.Organization == v.Organization
		}
		return p.Identity == v.Identity
	}
	if !v.Target.IsZero() && v.Target != t.Target.Identity {
		return false
	}
	return v.Side != Sent && is(t.Target) || v.Side != Received && is(t.Caller.Party)
}

// Message is one message of a task. What was not given is nil or empty.
type Message struct {
	ID               ID
	MessageID        string // the author's own id for it
	Role             Role
	Parts            []Part
	Metadata         []byte // a JSON object
	Extensions       []string
	ReferenceTaskIDs []string
	CreatedAt        time.Time
}

// Part is exactly one of Text, Data and File.
type Part struct {
	Text     *string
	Data     []byte // any JSON value, compact, digits and key order as they came
	File     *File
	Metadata []byte // a JSON object, compact
}

// File is a file by reference (URI) or by value (Bytes, in base64 as it came): exactly one of the two.
type File struct {
	URI, Bytes, Name, MIME string
}

// Text joins the text parts by newlines; ok is false when there is none.
func (m Message) Text() (text string, ok bool) {
	for _, p := range m.Parts {
		if p.Text == nil {
			continue
		}
		if ok {
			text += "\n"
		}
		text += *p.Text
		ok = true
	}
	return text, ok
}
