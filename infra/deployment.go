package infra

import "github.com/aws/aws-cdk-go/awscdk/v2"

// addDeployment moves calls to new code as the environment says, and back as soon as an alarm rings. Every function
// that something starts is called by its alias; a version is made for a changed setting as well as for changed code.
func (w *wrap) addDeployment(rollback []awscdk.CfnResource) {
	alarms := []any{}
	for _, a := range rollback {
		alarms = append(alarms, a.Ref())
	}
	for _, id := range append(w.serving(), w.working()...) {
		w.override(id, "Properties.AutoPublishAlias", "live")
		w.override(id, "Properties.AutoPublishAliasAllProperties", true)
		w.override(id, "Properties.DeploymentPreference", map[string]any{
			"Type": w.environment.Deployment, "Alarms": alarms,
		})
	}
}
