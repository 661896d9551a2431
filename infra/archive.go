package infra

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// addArchives lets the functions that make buses make an archive with each, where days are given for it. A bus is made
// while the service runs, so its archive is too.
func (w *wrap) addArchives() {
	made := w.source.callers("events:CreateEventBus")
	roles := []any{}
	for _, id := range made {
		w.override(id, "Properties.Environment.Variables.ARCHIVE_DAYS", w.parameters.archiveDays.value)
		roles = append(roles, w.ref(id+"Role")) // SAM's name for the role that it makes
	}
	policy := w.resource("ArchivePolicy", "AWS::IAM::ManagedPolicy", map[string]any{
		"Description": "Make an archive of a bus.",
		"Roles":       roles,
		"PolicyDocument": map[string]any{
			"Version": "2012-10-17",
			"Statement": []any{map[string]any{
				"Effect": "Allow", "Action": "events:CreateArchive",
				"Resource": []any{
					awscdk.Fn_Sub(jsii.String("arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-bus/baton-${Stage}-*"), nil),
					awscdk.Fn_Sub(jsii.String("arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:archive/*"), nil),
				},
			}},
		},
	})
	policy.CfnOptions().SetCondition(w.parameters.archiveDays.given)
}

// callers are the functions whose policies name the action.
func (t Template) callers(action string) []string {
	var found []string
	for _, id := range t.ids(functionType) {
		if strings.Contains(fmt.Sprint(t.Resources[id].Properties["Policies"]), action) {
			found = append(found, id)
		}
	}
	return found
}
