package relay_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"baton/internal/localstack"

	"go.yaml.in/yaml/v3"
)

// function is what the relay's promises need of a function in template.yaml. The local AWS knows partial failures, bisection
// and the record's age of a stream only by name.
type function struct {
	Timeout int `yaml:"Timeout"`
	Events  map[string]struct {
		Properties struct {
			FilterCriteria struct {
				Filters []struct {
					Pattern string `yaml:"Pattern"`
				} `yaml:"Filters"`
			} `yaml:"FilterCriteria"`
			FunctionResponseTypes      []string `yaml:"FunctionResponseTypes"`
			BisectBatchOnFunctionError bool     `yaml:"BisectBatchOnFunctionError"`
			MaximumRecordAgeInSeconds  int      `yaml:"MaximumRecordAgeInSeconds"`
			MaximumRetryAttempts       *int     `yaml:"MaximumRetryAttempts"`
			DestinationConfig          struct {
				OnFailure struct {
					Type string `yaml:"Type"`
				} `yaml:"OnFailure"`
			} `yaml:"DestinationConfig"`
			Schedule string `yaml:"Schedule"`
		} `yaml:"Properties"`
	} `yaml:"Events"`
}

func functionOf(t *testing.T, resource string) (f function) {
	t.Helper()
	tree, err := localstack.FindTree()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(tree.Path("template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Properties yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	r := template.Resources[resource]
	if err := r.Properties.Decode(&f); err != nil {
		t.Fatalf("%s: %v", resource, err)
	}
	return f
}

func TestStreamIsReadAsTheRelayNeedsIt(t *testing.T) {
	f := functionOf(t, "RelayEventsFunction")
	if f.Timeout == 0 || f.Timeout > 30 {
		t.Errorf("the relay may live %d s; two looks at a bus 45 s apart prove that it has ended", f.Timeout)
	}
	if len(f.Events) != 1 {
		t.Fatalf("%d events", len(f.Events))
	}
	for _, e := range f.Events {
		p := e.Properties
		switch {
		case !slices.Equal(p.FunctionResponseTypes, []string{"ReportBatchItemFailures"}):
			t.Error("the records that must come again are not asked for")
		case !p.BisectBatchOnFunctionError:
			t.Error("a batch that crashes the relay is not halved")
		case p.MaximumRecordAgeInSeconds != 86400 || p.MaximumRetryAttempts != nil:
			t.Error("records are given up before the stream forgets them")
		case p.DestinationConfig.OnFailure.Type != "SQS":
			t.Error("what is given up is not kept")
		case len(p.FilterCriteria.Filters) != 1:
			t.Error("not one filter")
		default:
			filterPassesTheSample(t, p.FilterCriteria.Filters[0].Pattern)
		}
	}
	for _, resource := range []string{"CheckBusesFunction", "UnparkBusesFunction"} {
		for _, e := range functionOf(t, resource).Events {
			if e.Properties.Schedule != "rate(1 minute)" {
				t.Errorf("%s: %q", resource, e.Properties.Schedule)
			}
		}
	}
}

// filterPassesTheSample sees that the filter looks for what a change has and a head has not.
func filterPassesTheSample(t *testing.T, pattern string) {
	t.Helper()
	var filter struct {
		EventName []string `json:"eventName"`
		DynamoDB  struct {
			NewImage map[string]map[string][]struct {
				Exists bool `json:"exists"`
			}
		} `json:"dynamodb"`
	}
	decoder := json.NewDecoder(strings.NewReader(pattern))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&filter); err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	text, err := os.ReadFile("../../events/relay-events.json")
	if err != nil {
		t.Fatal(err)
	}
	var sample struct {
		Records []struct {
			DynamoDB struct{ NewImage map[string]map[string]string }
		}
	}
	if err := json.Unmarshal(text, &sample); err != nil {
		t.Fatal(err)
	}
	mark := filter.DynamoDB.NewImage["e"]["B"]
	if _, there := sample.Records[0].DynamoDB.NewImage["e"]["B"]; !there || len(mark) != 1 || !mark[0].Exists || !slices.Equal(filter.EventName, []string{"INSERT"}) {
		t.Errorf("the filter %s does not look for the mark of a change", pattern)
	}
}
