package localaws

import (
	"bytes"
	"encoding/json"
)

// Call is one request that reached the transport, an SDK's retry counted anew.
type Call struct {
	Operation string // "Query", "TransactWriteItems", "PutEvents", …
	Request   []byte // the JSON body as the client made it
	Answer    []byte // the JSON body as the client got it, nil after a network error
	Status    int    // 0 after a network error
	Err       error

	// The capacity that the call consumed, indexes included; eventually consistent reads count half. See readUnits.
	ReadUnits, WriteUnits float64
}

// Calls are the requests since the last Reset, in the order in which they were answered.
func (f *Faults) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Call(nil), f.calls...)
}

// Count is how many requests of an operation there were since the last Reset, "" all.
func (f *Faults) Count(operation string) (n int) {
	for _, c := range f.Calls() {
		if operation == "" || c.Operation == operation {
			n++
		}
	}
	return n
}

// Units are the DynamoDB units consumed since the last Reset.
func (f *Faults) Units() (read, write float64) {
	for _, c := range f.Calls() {
		read += c.ReadUnits
		write += c.WriteUnits
	}
	return read, write
}

func (f *Faults) record(c Call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
}

// askForCapacity makes a DynamoDB request ask for the units it consumes, where it doesn't already. (The local AWS
// does not check the root key's signature, so the body may change after it was signed.)
func askForCapacity(body []byte) []byte {
	if !bytes.HasPrefix(body, []byte("{")) || bytes.Contains(body, []byte(`"ReturnConsumedCapacity"`)) {
		return body
	}
	rest := bytes.TrimSpace(body[1:])
	if bytes.Equal(rest, []byte("}")) {
		return body
	}
	return append([]byte(`{"ReturnConsumedCapacity":"TOTAL",`), rest...)
}

// units reads the consumed capacity out of an answer: one object for most operations, a list of them for batches and
// transactions. CapacityUnits is the sum with the indexes; what the local AWS calls WriteCapacityUnits leaves them out.
func units(operation string, answer []byte) (read, write float64) {
	type capacity struct {
		CapacityUnits, ReadCapacityUnits float64
	}
	var envelope struct{ ConsumedCapacity json.RawMessage }
	if json.Unmarshal(answer, &envelope) != nil || envelope.ConsumedCapacity == nil {
		return 0, 0
	}
	var all []capacity
	if json.Unmarshal(envelope.ConsumedCapacity, &all) != nil {
		var one capacity
		if json.Unmarshal(envelope.ConsumedCapacity, &one) != nil {
			return 0, 0
		}
		all = []capacity{one}
	}
	for _, c := range all {
		switch {
		case c.ReadCapacityUnits != 0: // a transaction that is repeated with its token is a read
			read += c.ReadCapacityUnits
		case isRead(operation):
			read += c.CapacityUnits
		default:
			write += c.CapacityUnits
		}
	}
	return read, write
}

func isRead(operation string) bool {
	switch operation {
	case "GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems":
		return true
	}
	return false
}
