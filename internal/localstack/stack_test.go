package localstack

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// TestStackFileHasTheAgreedNames holds what other programs read of .local/stack.json against contract section 8.
func TestStackFileHasTheAgreedNames(t *testing.T) {
	text, err := json.Marshal(Stack{})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	want := []string{"access_key_id", "api_url", "endpoint_url", "operator_key", "outputs", "region", "secret_access_key"}
	if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
