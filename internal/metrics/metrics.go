// Package metrics writes log lines that CloudWatch also takes metrics from (AWS, "Embedded metric format specification"):
// a function's output is its log, so a metric costs no call. It has the names of all of them.
//
// What a value means, and when it is measured, is said in the rooms that measure it. Nothing is a dimension: each value
// of one would be a metric of its own, paid for by the month, while a property of the line is searched for in the log for
// nothing. What Lambda and API Gateway measure by themselves, such as the duration of each function, is not measured here.
package metrics

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

// Namespace is that of all the metrics.
const Namespace = "Baton"

// Unit is a metric's, as CloudWatch spells it.
type Unit string

const (
	Count        Unit = "Count"
	Milliseconds Unit = "Milliseconds"
)

// Metric is something that is measured.
type Metric struct {
	Name string
	Unit Unit
}

// Value is one measurement.
type Value struct {
	Metric
	value float64
}

// Of is a measurement of the metric.
func (m Metric) Of(value float64) Value { return Value{m, value} }

var output = struct {
	sync.Mutex
	io.Writer
}{Writer: os.Stdout}

// SetOutput sends what Write writes elsewhere than to the standard output: for tests, and for programs that are no
// function. Safe for concurrent use.
func SetOutput(w io.Writer) {
	output.Lock()
	defer output.Unlock()
	output.Writer = w
}

// Write writes a line of measurements to the output. properties, a struct or map that becomes a JSON object, or nil, stand
// beside them, to be searched for. Safe for concurrent use.
func Write(at time.Time, properties any, values ...Value) {
	line, err := Line(at, properties, values...)
	if err != nil {
		return // measurements are not worth a failure
	}
	output.Lock()
	defer output.Unlock()
	output.Writer.Write(line)
}

// Line is the line that Write writes, with its newline. The only error is that of properties that are no JSON object.
func Line(at time.Time, properties any, values ...Value) ([]byte, error) {
	line, err := open(properties)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		line = append(line, '"')
		line = append(line, v.Name...)
		line = append(line, `":`...)
		line = strconv.AppendFloat(line, v.value, 'f', -1, 64)
		line = append(line, ',')
	}
	line = append(line, `"_aws":{"Timestamp":`...)
	line = strconv.AppendInt(line, at.UnixMilli(), 10)
	line = append(line, `,"CloudWatchMetrics":[{"Namespace":"`+Namespace+`","Dimensions":[[]],"Metrics":[`...)
	for i, v := range values {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(line, `{"Name":"`...)
		line = append(line, v.Name...)
		line = append(line, `","Unit":"`...)
		line = append(line, v.Unit...)
		line = append(line, `"}`...)
	}
	return append(line, "]}]}}\n"...), nil
}

// open is the beginning of an object with the properties, up to where the next member goes.
func open(properties any) ([]byte, error) {
	if properties == nil {
		return []byte{'{'}, nil
	}
	text, err := json.Marshal(properties)
	if err != nil {
		return nil, err
	}
	object, isObject := bytes.CutSuffix(text, []byte{'}'})
	if !isObject {
		return nil, &json.UnsupportedTypeError{}
	}
	if len(object) > 1 {
		object = append(object, ',')
	}
	return object, nil
}
