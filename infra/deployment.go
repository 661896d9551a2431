package infra

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
)

// addDeployment moves calls to new code as the environment says, and back as soon as an alarm rings. Every function
// that something starts is called by its alias; a version is made for a changed setting as well as for changed code.
func (w *wrap) addDeployment(rollback []awscdk.CfnResource) {
	alarms := []any{}
	for _, a := range rollback {
		alarms = append(alarms, a.Ref())
	}
	preference := map[string]any{"Type": w.environment.Deployment}
	if !w.environment.urgent {
		preference["Alarms"] = alarms
	}
	for _, id := range append(w.serving(), w.working()...) {
		w.override(id, "Properties.AutoPublishAlias", "live")
		w.override(id, "Properties.AutoPublishAliasAllProperties", true)
		w.override(id, "Properties.DeploymentPreference", preference)
		if mark := w.settingsOf(id); mark != "" {
			w.override(id, "Properties.Description", "Settings "+mark)
		}
	}
}

// settingsOf is a mark of the parameters of this deploy that the function is told, "" where none is given. SAM makes a
// version when the function's text in the template changes, and a reference to a parameter reads the same whatever its
// value: without a mark that changes with it the alias stays with the old value, and so do all calls (SAM's issue 3820).
func (w *wrap) settingsOf(id string) string {
	told := map[string]bool{}
	references(w.source.Resources[id].Properties["Environment"], told)
	references(w.source.whole["Globals"], told)
	if slices.Contains(w.source.callers("events:CreateEventBus"), id) {
		told["ArchiveDays"] = true
	}
	hash, given := sha256.New(), false
	for _, name := range slices.Sorted(maps.Keys(w.environment.settings)) {
		if told[name] {
			fmt.Fprintf(hash, "%s=%s\n", name, w.environment.settings[name])
			given = true
		}
	}
	if !given {
		return ""
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:5])
}

var inText = regexp.MustCompile(`\$\{(\w+)\}`)

// references adds the names that a part of a template refers to, by Ref or in a text.
func references(part any, names map[string]bool) {
	switch p := part.(type) {
	case map[string]any:
		if name, ok := p["Ref"].(string); ok {
			names[name] = true
		}
		for _, v := range p {
			references(v, names)
		}
	case []any:
		for _, v := range p {
			references(v, names)
		}
	case string:
		for _, m := range inText.FindAllStringSubmatch(p, -1) {
			names[m[1]] = true
		}
	}
}
