package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// addRecovery lets every table go back to any second of 35 days, and where data may not be lost makes tables and secrets
// outlive the stack, and copies the tables each day.
func (w *wrap) addRecovery() {
	tables := w.source.ids(tableType)
	for _, id := range tables {
		w.override(id, "Properties.PointInTimeRecoverySpecification", map[string]any{"PointInTimeRecoveryEnabled": true})
	}
	if w.environment.Protected {
		for _, id := range tables {
			w.override(id, "Properties.DeletionProtectionEnabled", true)
			// Not RetainExceptOnCreate: a first deploy that fails could not take back what refuses deletion.
			w.override(id, "DeletionPolicy", "Retain")
			w.override(id, "UpdateReplacePolicy", "Retain")
		}
		// Without its secrets a table restored is of no use: its keys are garbage.
		for _, id := range w.source.ids(secretType) {
			w.override(id, "DeletionPolicy", "RetainExceptOnCreate")
			w.override(id, "UpdateReplacePolicy", "Retain")
		}
	}
	if w.environment.Backups {
		w.addBackups(tables)
	}
}

func (w *wrap) addBackups(tables []string) {
	vault := w.resource("BackupVault", "AWS::Backup::BackupVault", map[string]any{
		"BackupVaultName":  w.named("tables"),
		"EncryptionKeyArn": w.parameters.key.orNothing(w.parameters.key.value),
	})
	vault.ApplyRemovalPolicy(awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE, nil) // see logGroup
	rule := func(name, schedule string, days int) map[string]any {
		return map[string]any{
			"RuleName": name, "TargetBackupVault": vault.Ref(), "ScheduleExpression": schedule,
			"StartWindowMinutes": 60, "CompletionWindowMinutes": 480,
			"Lifecycle": map[string]any{"DeleteAfterDays": days},
		}
	}
	plan := w.resource("BackupPlan", "AWS::Backup::BackupPlan", map[string]any{
		"BackupPlan": map[string]any{
			"BackupPlanName": w.named("tables"),
			"BackupPlanRule": []any{
				rule("daily", "cron(0 3 * * ? *)", 35),
				rule("monthly", "cron(0 4 1 * ? *)", 365),
			},
		},
	})
	role := w.resource("BackupRole", "AWS::IAM::Role", map[string]any{
		"AssumeRolePolicyDocument": map[string]any{
			"Version": "2012-10-17",
			"Statement": []any{map[string]any{
				"Effect": "Allow", "Principal": map[string]any{"Service": "backup.amazonaws.com"}, "Action": "sts:AssumeRole",
			}},
		},
		"ManagedPolicyArns": []any{
			map[string]any{"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForBackup"},
			map[string]any{"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/service-role/AWSBackupServiceRolePolicyForRestores"},
		},
	})
	arns := []any{}
	for _, id := range tables {
		arns = append(arns, w.arn(id))
	}
	w.resource("BackupSelection", "AWS::Backup::BackupSelection", map[string]any{
		"BackupPlanId": plan.Ref(),
		"BackupSelection": map[string]any{
			"SelectionName": "tables", "IamRoleArn": role.GetAtt(jsii.String("Arn"), awscdk.ResolutionTypeHint_STRING), "Resources": arns,
		},
	})
}

func (w *wrap) resource(id, kind string, properties map[string]any) awscdk.CfnResource {
	return awscdk.NewCfnResource(w.Stack, &id, &awscdk.CfnResourceProps{Type: &kind, Properties: &properties})
}
