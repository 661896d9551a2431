package store

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"baton/internal/task"
)

// body is a message as it is stored: JSON with short names, so that it can be read in a console, and what JSON came in
// stays as it came.
type body struct {
	MessageID  string          `json:"i,omitempty"`
	Parts      []bodyPart      `json:"p,omitempty"`
	Metadata   json.RawMessage `json:"m,omitempty"`
	Extensions []string        `json:"x,omitzero"`
	References []string        `json:"r,omitzero"`
}

type bodyPart struct {
	Text     *string         `json:"t,omitempty"`
	Data     json.RawMessage `json:"d,omitempty"`
	File     *bodyFile       `json:"f,omitempty"`
	Metadata json.RawMessage `json:"m,omitempty"`
}

type bodyFile struct {
	URI   string `json:"u,omitempty"`
	Bytes string `json:"b,omitempty"`
	Name  string `json:"n,omitempty"`
	MIME  string `json:"t,omitempty"`
}

func encodeBody(m task.Message) ([]byte, error) {
	b := body{m.MessageID, make([]bodyPart, len(m.Parts)), m.Metadata, m.Extensions, m.ReferenceTaskIDs}
	for i, p := range m.Parts {
		b.Parts[i] = bodyPart{Text: p.Text, Data: p.Data, Metadata: p.Metadata}
		if p.File != nil {
			b.Parts[i].File = &bodyFile{p.File.URI, p.File.Bytes, p.File.Name, p.File.MIME}
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(b); err != nil {
		return nil, fmt.Errorf("store: encode message: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func decodeBody(raw []byte, m *task.Message) error {
	var b body
	if err := json.Unmarshal(raw, &b); err != nil {
		return fmt.Errorf("store: decode message: %w", err)
	}
	m.MessageID, m.Metadata, m.Extensions, m.ReferenceTaskIDs = b.MessageID, b.Metadata, b.Extensions, b.References
	m.Parts = make([]task.Part, len(b.Parts))
	for i, p := range b.Parts {
		m.Parts[i] = task.Part{Text: p.Text, Data: p.Data, Metadata: p.Metadata}
		if p.File != nil {
			m.Parts[i].File = &task.File{URI: p.File.URI, Bytes: p.File.Bytes, Name: p.File.Name, MIME: p.File.MIME}
		}
	}
	return nil
}

// Compressors and decompressors are kept: making a compressor takes 0.8 MB and five times as long as its work on a
// message.
var (
	compressors   = sync.Pool{New: func() any { return newCompressor() }}
	decompressors = sync.Pool{New: func() any { return flate.NewReader(nil) }}
)

func newCompressor() *flate.Writer {
	w, err := flate.NewWriter(nil, flate.DefaultCompression)
	if err != nil {
		panic(err) // only for a level that isn't there
	}
	return w
}

// pack compresses a body if that makes it smaller, which it does from about 1 KB of ordinary text.
func pack(raw []byte) (packed []byte, compressed bool) {
	var out bytes.Buffer
	w := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	w.Reset(&out)
	w.Write(raw) // a buffer takes everything
	w.Close()
	if out.Len() >= len(raw) {
		return raw, false
	}
	return out.Bytes(), true
}

func unpack(packed []byte) ([]byte, error) {
	r := decompressors.Get().(io.Reader)
	defer decompressors.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(packed), nil); err != nil {
		return nil, fmt.Errorf("store: decompress message: %w", err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("store: decompress message: %w", err)
	}
	return raw, nil
}
