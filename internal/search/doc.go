// Package search is how text is found: what a word is, what a query asks for,
// whether a text has it, and a small signature that tells most texts without
// it apart unread, with a larger archive for long ones.
//
// Storage and tasks stay out: a caller hands over the parts of a message in
// order (see Document) and keeps signatures and archives as opaque bytes.
package search

// Document takes the text of one task, or of one message, part by part in the order of the messages. It is a
// *Matcher, a *Signature or an *Archive, so that all read exactly the same words (contract section 3, "q").
type Document interface {
	// Text takes a text part.
	Text(text string)
	// Data takes a data part as raw JSON: its keys and scalars in document order, strings unescaped, numbers and
	// the literals true, false and null as written. A word ends where a key or scalar does; a phrase may go on
	// into the next. Whitespace between tokens is no part of the text. What isn't JSON is read as far as it goes.
	Data(json []byte)
	// File takes a file part by its name, which may be empty.
	File(name string)
}

// TaskText is how many code points of a task's text count for task search: those of text parts, of file names and of
// the keys and scalars of data, in the order of the messages. A word that only ends beyond them does not count.
const TaskText = 100_000
