package metrics_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"baton/internal/metrics"
)

var noon = time.Date(2026, 12, 2, 12, 0, 0, 123e6, time.UTC)

func TestLinesAreOfTheEmbeddedFormat(t *testing.T) {
	line, err := metrics.Line(noon, map[string]any{"organization_id": "o"}, metrics.BusEvents.Of(3), metrics.BusTime.Of(1.25))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"organization_id":"o","BusEvents":3,"BusTime":1.25,` +
		`"_aws":{"Timestamp":1796212800123,"CloudWatchMetrics":[{"Namespace":"Baton","Dimensions":[[]],"Metrics":[` +
		`{"Name":"BusEvents","Unit":"Count"},{"Name":"BusTime","Unit":"Milliseconds"}]}]}}` + "\n"
	if string(line) != want {
		t.Errorf("line\n%swant\n%s", line, want)
	}
}

func TestWhateverThePropertiesALineIsOneObject(t *testing.T) {
	type some struct {
		Text  string `json:"text,omitempty"`
		Level string `json:"level"`
	}
	for name, properties := range map[string]any{
		"none":               nil,
		"an empty map":       map[string]any{},
		"a struct":           some{"two\nlines </script> \xff", "INFO"},
		"a pointer":          &some{},
		"an empty structure": struct{}{},
	} {
		line, err := metrics.Line(noon, properties, metrics.Faults.Of(1))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if bytes.Count(line, []byte("\n")) != 1 || !bytes.HasSuffix(line, []byte("\n")) {
			t.Errorf("%s: not one line: %q", name, line)
		}
		var is map[string]any
		if err := json.Unmarshal(line, &is); err != nil || is["Faults"] != 1.0 {
			t.Errorf("%s: %v: %s", name, err, line)
		}
	}
	for name, properties := range map[string]any{"a number": 1, "a list": []int{1}, "a channel": make(chan int)} {
		if line, err := metrics.Line(noon, properties); err == nil {
			t.Errorf("%s becomes %s", name, line)
		}
	}
}

func TestWriteGoesToTheOutput(t *testing.T) {
	var out bytes.Buffer
	metrics.SetOutput(&out)
	metrics.Write(noon, nil, metrics.BusesGone.Of(1))
	metrics.Write(noon, make(chan int), metrics.BusesGone.Of(1)) // can't be written, and nobody fails of it
	var is struct {
		BusesGone float64
		About     struct{ CloudWatchMetrics []map[string]any } `json:"_aws"`
	}
	if err := json.Unmarshal(out.Bytes(), &is); err != nil || is.BusesGone != 1 || len(is.About.CloudWatchMetrics) != 1 {
		t.Errorf("%v: %s", err, out.String())
	}
	if want := []any{[]any{}}; !reflect.DeepEqual(is.About.CloudWatchMetrics[0]["Dimensions"], want) {
		t.Errorf("dimensions %v", is.About.CloudWatchMetrics[0]["Dimensions"])
	}
	if strings.Count(out.String(), "\n") != 1 {
		t.Errorf("wrote %q", out.String())
	}
}
