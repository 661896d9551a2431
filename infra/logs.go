package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// addLogs gives each function a log group of its own that forgets. What Lambda makes by itself is kept for ever, and
// in the way of a group with the same name.
func (w *wrap) addLogs() {
	for _, id := range w.functions() {
		group := w.logGroup(id+"Logs", "/baton/${Stage}/"+id)
		w.override(id, "Properties.LoggingConfig", map[string]any{"LogGroup": group.Ref()})
	}
}

func (w *wrap) logGroup(id, name string) awscdk.CfnResource {
	group := awscdk.NewCfnResource(w.Stack, &id, &awscdk.CfnResourceProps{
		Type: jsii.String("AWS::Logs::LogGroup"),
		Properties: &map[string]any{
			"LogGroupName":    map[string]any{"Fn::Sub": name},
			"RetentionInDays": w.environment.LogDays,
			"KmsKeyId":        w.parameters.key.orNothing(w.parameters.key.value),
		},
	})
	if !w.environment.Protected {
		group.ApplyRemovalPolicy(awscdk.RemovalPolicy_DESTROY, nil)
	} else {
		// But not by a first deploy that fails: the next would find the name taken.
		group.ApplyRemovalPolicy(awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE, nil)
	}
	return group
}
