package layout

import (
	"os"
	"strconv"
	"testing"

	"baton/internal/directory"

	"go.yaml.in/yaml/v3"
)

// TestTemplateKeepsWhatIsPromised holds the numbers of the template against those that users are told of (contract
// sections 1, 2, 4 and 5).
func TestTemplateKeepsWhatIsPromised(t *testing.T) {
	text, err := os.ReadFile("template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Parameters map[string]struct {
			Default  string `yaml:"Default"`
			MaxValue int    `yaml:"MaxValue"`
		} `yaml:"Parameters"`
		Resources map[string]struct {
			Properties struct {
				Timeout     int `yaml:"Timeout"`
				Environment struct {
					Variables map[string]any `yaml:"Variables"`
				} `yaml:"Environment"`
				TimeToLive any `yaml:"TimeToLiveSpecification"`
			} `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"RevokedKeySeconds": "30", "SendsPerMinute": "300", "SendsPerSecond": "200", "OpenTasks": "10000",
		"IdentitiesAtMost": strconv.Itoa(directory.DefaultMost.Identities), "KeysAtMost": strconv.Itoa(directory.DefaultMost.Keys),
	} {
		if got := template.Parameters[name].Default; got != want {
			t.Errorf("%s is %q, promised is %s", name, got, want)
		}
	}
	if most := template.Parameters["RevokedKeySeconds"].MaxValue; most != 30 {
		t.Errorf("a revoked key may work %d s", most)
	}
	for variable, parameter := range map[string]string{"SENDS_PER_MINUTE": "SendsPerMinute", "SENDS_PER_SECOND": "SendsPerSecond", "OPEN_TASKS": "OpenTasks"} {
		if got := template.Resources["SendTaskFunction"].Properties.Environment.Variables[variable]; got != parameter {
			t.Errorf("send-task is told %v as %s", got, variable)
		}
	}
	if most := template.Parameters["IdentitiesAtMost"].MaxValue; most != directory.MaxHandles {
		t.Errorf("an organization may have %d agents", most)
	}
	for variable, in := range map[string][2]string{"IDENTITIES_AT_MOST": {"ManageIdentitiesFunction", "IdentitiesAtMost"}, "KEYS_AT_MOST": {"ManageKeysFunction", "KeysAtMost"}} {
		if got := template.Resources[in[0]].Properties.Environment.Variables[variable]; got != in[1] {
			t.Errorf("%s is told %v as %s", in[0], got, variable)
		}
	}
	if ttl := template.Resources["TasksTable"].Properties.TimeToLive; ttl != nil {
		t.Errorf("tasks expire: %v", ttl)
	}
	if template.Resources["EventsTable"].Properties.TimeToLive == nil {
		t.Error("events are kept for ever")
	}
	for name, span := range map[string]struct{ least, most int }{
		"SendTaskFunction": {26, 28}, "ReadTaskFunction": {26, 28}, "ClaimTaskFunction": {26, 28}, // held 25 s, under the gateway's 29
		"WaitEventsFunction": {56, 900},
	} {
		if s := template.Resources[name].Properties.Timeout; s < span.least || s > span.most {
			t.Errorf("%s may take %d s, want %d to %d", name, s, span.least, span.most)
		}
	}
}
