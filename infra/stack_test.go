package infra

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
)

const sourcePath = "../template.yaml"

// synthesized is an environment's stack, made once.
type synthesized struct {
	environment Environment
	template    Template
	stack       assertions.Template
}

var (
	dev  = sync.OnceValues(func() (synthesized, error) { return synthesize(Dev) })
	prod = sync.OnceValues(func() (synthesized, error) { return synthesize(Prod) })
)

func synthesize(environment Environment) (synthesized, error) {
	dir, err := os.MkdirTemp("", "baton-infra-test-")
	if err != nil {
		return synthesized{}, err
	}
	defer os.RemoveAll(dir)
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: &dir, AnalyticsReporting: jsii.Bool(false)})
	stack, err := NewStack(app, environment, sourcePath)
	if err != nil {
		return synthesized{}, err
	}
	all := assertions.Template_FromStack(stack, nil) // synthesizes
	template, err := ReadTemplate(filepath.Join(dir, *stack.TemplateFile()))
	return synthesized{environment, template, all}, err
}

// each runs a test on both environments.
func each(t *testing.T, test func(*testing.T, Template, synthesized)) {
	source, err := ReadTemplate(sourcePath)
	if err != nil {
		t.Fatal(err)
	}
	for _, make := range []func() (synthesized, error){dev, prod} {
		s, err := make()
		if err != nil {
			t.Fatal(err)
		}
		t.Run(s.environment.Name, func(t *testing.T) { test(t, source, s) })
	}
}

// has checks that the stack has a resource of the type with the properties.
func (s synthesized) has(t *testing.T, kind string, properties map[string]any) {
	t.Helper()
	expect(t, func() { s.stack.HasResourceProperties(&kind, properties) })
}

// expect reports a failed assertion of CDK's, which panics.
func expect(t *testing.T, assertion func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if reason := recover(); reason != nil {
			t.Error(reason)
		}
	}()
	assertion()
}

// overrides are all properties of the template's resources that an environment sets, by the resource's type. "prod"
// stands behind those that only production has.
var overrides = map[string][]string{
	functionType: {
		"Properties.LoggingConfig", "Properties.Environment", "Properties.ReservedConcurrentExecutions",
		"Properties.ProvisionedConcurrencyConfig", "Properties.AutoPublishAlias", "Properties.AutoPublishAliasAllProperties",
		"Properties.DeploymentPreference", "Properties.Events",
	},
	tableType: {
		"Properties.PointInTimeRecoverySpecification", "Properties.SSESpecification",
		"Properties.DeletionProtectionEnabled prod", "DeletionPolicy prod", "UpdateReplacePolicy prod",
	},
	secretType: {"Properties.KmsKeyId", "DeletionPolicy prod", "UpdateReplacePolicy prod"},
	queueType:  {"Properties.KmsMasterKeyId"},
}

func TestTheTemplateIsIncludedAsItStandsButForTheOverrides(t *testing.T) {
	each(t, func(t *testing.T, source Template, s synthesized) {
		allowed := map[string]bool{}
		for kind, properties := range overrides {
			for _, p := range properties {
				name, only, _ := strings.Cut(p, " ")
				if only == "" || only == s.environment.Name {
					allowed[kind+" "+name] = true
				}
			}
		}
		seen := map[string]bool{}
		for id, r := range source.Resources {
			wrapped, ok := s.template.Resources[id]
			if !ok {
				t.Errorf("%s is lost", id)
				continue
			}
			for _, property := range differences(r.whole, wrapped.whole) {
				seen[r.Type+" "+property] = true
				if !allowed[r.Type+" "+property] {
					t.Errorf("%s: %s differs and is no named override", id, property)
				}
			}
		}
		for override := range allowed {
			if !seen[override] {
				t.Errorf("%s is named as an override and overrides nothing", override)
			}
		}
		// The only environment variable that is added.
		for _, id := range source.ids(functionType) {
			was, is := source.Resources[id].variables(), s.template.Resources[id].variables()
			delete(is, "ARCHIVE_DAYS")
			if !reflect.DeepEqual(was, is) {
				t.Errorf("%s: its environment is %v and was %v", id, is, was)
			}
		}
	})
}

func TestWhatIsNotAResourceIsIncludedAsItStands(t *testing.T) {
	each(t, func(t *testing.T, source Template, s synthesized) {
		for _, section := range []string{"Transform", "Globals", "Mappings"} {
			if !reflect.DeepEqual(source.whole[section], s.template.whole[section]) {
				t.Errorf("%s differs", section)
			}
		}
		stage := source.Parameters["Stage"].(map[string]any)
		stage["Default"] = s.environment.Name
		for name, p := range source.Parameters {
			if !reflect.DeepEqual(p, s.template.Parameters[name]) {
				t.Errorf("parameter %s is %v and was %v", name, s.template.Parameters[name], p)
			}
		}
		for name, o := range source.Outputs {
			if !reflect.DeepEqual(o, s.template.Outputs[name]) {
				t.Errorf("output %s is %v and was %v", name, s.template.Outputs[name], o)
			}
		}
	})
}

// differences are the parts of a resource that are not equal, down to one property.
func differences(was, is map[string]any) []string {
	var found []string
	compare := func(prefix string, was, is map[string]any) {
		names := slices.Collect(maps.Keys(was))
		for name := range is {
			if _, ok := was[name]; !ok {
				names = append(names, name)
			}
		}
		for _, name := range names {
			if name != "Properties" && !reflect.DeepEqual(was[name], is[name]) {
				found = append(found, prefix+name)
			}
		}
	}
	compare("", was, is)
	a, _ := was["Properties"].(map[string]any)
	b, _ := is["Properties"].(map[string]any)
	compare("Properties.", a, b)
	return found
}

// variables is a copy of a function's own environment.
func (r Resource) variables() map[string]any {
	environment, _ := r.Properties["Environment"].(map[string]any)
	variables, _ := environment["Variables"].(map[string]any)
	all := map[string]any{}
	maps.Copy(all, variables)
	return all
}

func TestFunctionsTemplateAndStackAgree(t *testing.T) {
	each(t, func(t *testing.T, source Template, s synthesized) {
		entries, err := os.ReadDir("../functions")
		if err != nil {
			t.Fatal(err)
		}
		var folders, ids []string
		for _, e := range entries {
			folders = append(folders, e.Name())
			ids = append(ids, camel(e.Name())+"Function")
		}
		var named []string
		for _, id := range source.ids(functionType) {
			named = append(named, source.Resources[id].folder())
		}
		slices.Sort(named)
		if !slices.Equal(folders, named) {
			t.Errorf("folders are %v\nand the template's functions %v", folders, named)
		}
		slices.Sort(ids)
		if got := s.template.ids(functionType); !slices.Equal(ids, got) {
			t.Errorf("folders are %v\nand the stack's functions %v", ids, got)
		}
	})
}

func TestEachFunctionHasALogGroupThatForgets(t *testing.T) {
	each(t, func(t *testing.T, source Template, s synthesized) {
		for _, id := range source.ids(functionType) {
			group := s.template.Resources[id+"Logs"]
			if group.Properties["RetentionInDays"] != s.environment.LogDays {
				t.Errorf("%s keeps its lines for %v days", id, group.Properties["RetentionInDays"])
			}
			s.has(t, functionType, map[string]any{
				"CodeUri": source.Resources[id].Properties["CodeUri"],
				"LoggingConfig": map[string]any{
					"LogGroup": map[string]any{"Ref": id + "Logs"},
				},
			})
		}
	})
}

func TestTheFirewallStandsBeforeTheStage(t *testing.T) {
	each(t, func(t *testing.T, _ Template, s synthesized) {
		s.has(t, "AWS::WAFv2::WebACLAssociation", map[string]any{
			"WebACLArn": map[string]any{"Fn::GetAtt": []any{"Firewall", "Arn"}},
			"ResourceArn": map[string]any{"Fn::Sub": []any{
				assertions.Match_StringLikeRegexp(jsii.String("/restapis/\\$\\{Api\\}/stages/\\$\\{Name\\}$")),
				map[string]any{"Name": map[string]any{"Ref": "Api.Stage"}},
			}},
		})
	})
}

func TestTheFirewallLooksAtRatesAndSizesAndNeverAtBodies(t *testing.T) {
	each(t, func(t *testing.T, _ Template, s synthesized) {
		rules := s.template.Resources["Firewall"].Properties["Rules"].([]any)
		named := map[string]string{}
		for _, r := range rules {
			rule := r.(map[string]any)
			named[fmt.Sprint(rule["Name"])] = fmt.Sprint(rule["Statement"])
		}
		if !strings.Contains(named["rate"], fmt.Sprintf("Limit:%d", s.environment.CallsPerIP)) {
			t.Errorf("the rate is %s", named["rate"])
		}
		for _, part := range []string{"UriPath", "QueryString"} {
			if !strings.Contains(named["size"], part) {
				t.Errorf("the size of %s is not looked at: %s", part, named["size"])
			}
		}
		// Every rule of the group that reads a body or a query, as AWS lists them.
		for _, rule := range []string{"SizeRestrictions_BODY", "EC2MetaDataSSRF_BODY", "GenericLFI_BODY", "GenericRFI_BODY",
			"CrossSiteScripting_BODY", "SizeRestrictions_QUERYSTRING", "GenericLFI_QUERYARGUMENTS", "CrossSiteScripting_QUERYARGUMENTS"} {
			if !strings.Contains(named["AWSManagedRulesCommonRuleSet"], "map[ActionToUse:map[Count:map[]] Name:"+rule+"]") {
				t.Errorf("%s may refuse", rule)
			}
		}
	})
}

func TestCapacityEncryptionAndDomainAreParametersThatAreOffByDefault(t *testing.T) {
	each(t, func(t *testing.T, source Template, s synthesized) {
		given := func(condition string, value any) map[string]any {
			return map[string]any{"Fn::If": []any{condition, value, map[string]any{"Ref": "AWS::NoValue"}}}
		}
		ref := func(name string) map[string]any { return map[string]any{"Ref": name} }
		property := func(id, name string, want any) {
			t.Helper()
			if got := s.template.Resources[id].Properties[name]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s is %v, want %v", id, name, got, want)
			}
		}
		for name, without := range map[string]any{
			"WaitingConcurrency": "0", "RelayingConcurrency": "0", "ProvisionedConcurrency": "0", "ArchiveDays": "0",
			"KmsKeyArn": "", "DomainName": "", "HostedZoneId": "", "AlarmEmail": "",
		} {
			parameter, _ := s.template.Parameters[name].(map[string]any)
			if parameter["Default"] != without {
				t.Errorf("%s is %v by default", name, parameter["Default"])
			}
		}
		property("ReadTaskFunction", "ReservedConcurrentExecutions", given("HasWaitingConcurrency", ref("WaitingConcurrency")))
		property("RelayEventsFunction", "ReservedConcurrentExecutions", given("HasRelayingConcurrency", ref("RelayingConcurrency")))
		queue := s.template.Resources["DeliverWebhooksFunction"].mostFromQueues()["Deliveries"]
		if want := map[string]any{"Fn::If": []any{"HasRelayingConcurrency", ref("RelayingConcurrency"), 100}}; !reflect.DeepEqual(queue, want) {
			t.Errorf("the queue starts up to %v at once", queue)
		}
		property("SendTaskFunction", "ProvisionedConcurrencyConfig",
			given("HasProvisionedConcurrency", map[string]any{"ProvisionedConcurrentExecutions": ref("ProvisionedConcurrency")}))
		for _, id := range source.ids(tableType) {
			property(id, "SSESpecification", given("HasKmsKeyArn", map[string]any{"SSEEnabled": true, "SSEType": "KMS", "KMSMasterKeyId": ref("KmsKeyArn")}))
			if s.environment.Protected {
				property(id, "DeletionProtectionEnabled", true)
			}
		}
		for _, id := range source.ids(secretType) {
			property(id, "KmsKeyId", given("HasKmsKeyArn", ref("KmsKeyArn")))
		}
		for _, id := range source.ids(queueType) {
			property(id, "KmsMasterKeyId", given("HasKmsKeyArn", ref("KmsKeyArn")))
		}
		for _, id := range s.template.ids("AWS::Logs::LogGroup") {
			property(id, "KmsKeyId", given("HasKmsKeyArn", ref("KmsKeyArn")))
		}
		for id, condition := range map[string]string{
			"Domain": "HasDomainName", "DomainMapping": "HasDomainName", "DomainRecord": "HasDomainInZone",
			"AlarmsByMail": "HasAlarmEmail", "ArchivePolicy": "HasArchiveDays",
		} {
			if got := s.template.Resources[id].whole["Condition"]; got != condition {
				t.Errorf("%s is made when %v", id, got)
			}
		}
	})
}

func TestTablesComeBack(t *testing.T) {
	each(t, func(t *testing.T, source Template, s synthesized) {
		expect(t, func() {
			s.stack.AllResourcesProperties(jsii.String(tableType), map[string]any{
				"PointInTimeRecoverySpecification": map[string]any{"PointInTimeRecoveryEnabled": true},
			})
		})
		for _, id := range append(source.ids(tableType), source.ids(secretType)...) {
			policy, _ := s.template.Resources[id].whole["DeletionPolicy"].(string)
			if kept := strings.HasPrefix(policy, "Retain"); kept != s.environment.Protected {
				t.Errorf("%s is kept: %v", id, kept)
			}
		}
		if !s.environment.Backups {
			expect(t, func() { s.stack.ResourceCountIs(jsii.String("AWS::Backup::BackupPlan"), jsii.Number(0)) })
			return
		}
		var arns []any
		for _, id := range source.ids(tableType) {
			arns = append(arns, map[string]any{"Fn::GetAtt": []any{id, "Arn"}})
		}
		s.has(t, "AWS::Backup::BackupSelection", map[string]any{"BackupSelection": map[string]any{"Resources": arns}})
	})
}

func TestNewCodeIsTakenBackWhenAnAlarmRings(t *testing.T) {
	each(t, func(t *testing.T, source Template, s synthesized) {
		called := 0
		for _, id := range source.ids(functionType) {
			if len(source.Resources[id].events()) == 0 {
				continue // the deploy's own
			}
			called++
			preference, _ := s.template.Resources[id].Properties["DeploymentPreference"].(map[string]any)
			if preference["Type"] != s.environment.Deployment {
				t.Errorf("%s is deployed by %v", id, preference["Type"])
			}
			if alarms, _ := preference["Alarms"].([]any); len(alarms) != 4 {
				t.Errorf("%s is taken back by %v", id, alarms)
			}
		}
		if called == 0 {
			t.Error("nothing is called")
		}
	})
}

// The alarms that somebody must get, by their sections of the runbook.
func TestEachAlarmIsInTheRunbookAndTellsSomebody(t *testing.T) {
	each(t, func(t *testing.T, source Template, s synthesized) {
		text, err := os.ReadFile("../docs/runbook.md")
		if err != nil {
			t.Fatal(err)
		}
		var sections, alarms []string
		for _, m := range regexp.MustCompile(`(?m)^## ([a-z0-9-]+)$`).FindAllStringSubmatch(string(text), -1) {
			sections = append(sections, m[1])
		}
		for _, id := range s.template.ids("AWS::CloudWatch::Alarm") {
			p := s.template.Resources[id].Properties
			name := strings.TrimPrefix(fmt.Sprint(p["AlarmName"]), "map[Fn::Sub:baton-${Stage}-")
			name = strings.TrimSuffix(name, "]")
			alarms = append(alarms, name)
			if !strings.Contains(fmt.Sprint(p["AlarmDescription"]), "RunbookUrl] #"+name) {
				t.Errorf("%s links %v", name, p["AlarmDescription"])
			}
			if !reflect.DeepEqual(p["AlarmActions"], []any{map[string]any{"Ref": "Alarms"}}) {
				t.Errorf("%s tells %v", name, p["AlarmActions"])
			}
			if metrics, _ := p["Metrics"].([]any); len(metrics) > 11 {
				t.Errorf("%s adds up %d series, and CloudWatch ten", name, len(metrics)-1)
			}
			if !slices.Contains(sections, name) {
				t.Errorf("docs/runbook.md has no section %q", name)
			}
		}
		if s.environment.Name == Prod.Name { // which has them all
			for _, section := range sections {
				if !slices.Contains(alarms, section) {
					t.Errorf("docs/runbook.md has a section %q, and there is no such alarm", section)
				}
			}
		}
	})
}

// A metric that nobody writes is an alarm that never rings.
func TestTheFunctionsWriteTheMetricsThatAreWatched(t *testing.T) {
	s, err := prod()
	if err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadFile("../internal/metrics/names.go")
	if err != nil {
		t.Fatal(err)
	}
	watched := 0
	for _, id := range append(s.template.ids("AWS::CloudWatch::Alarm"), s.template.ids("AWS::CloudWatch::Dashboard")...) {
		text := fmt.Sprint(s.template.Resources[id].Properties)
		for _, m := range regexp.MustCompile(`"Baton","(\w+)"|MetricName:(\w+) Namespace:Baton`).FindAllStringSubmatch(text, -1) {
			watched++
			if name := m[1] + m[2]; !strings.Contains(string(names), `Metric{"`+name+`"`) {
				t.Errorf("%s watches %s, which no function writes", id, name)
			}
		}
	}
	if watched < 15 {
		t.Errorf("found %d watched metrics", watched)
	}
}

// A function that makes a bus without an archive leaves a bus without one for ever.
func TestWhatMakesBusesMakesArchives(t *testing.T) {
	each(t, func(t *testing.T, source Template, s synthesized) {
		made := source.callers("events:CreateEventBus")
		if len(made) == 0 {
			t.Error("nothing makes buses")
		}
		var roles []any
		for _, id := range made {
			program, err := os.ReadFile(filepath.Join("../functions", source.Resources[id].folder(), "main.go"))
			if err != nil || !strings.Contains(string(program), "ARCHIVE_DAYS") {
				t.Errorf("%s makes buses and does not ask for ARCHIVE_DAYS (%v)", id, err)
			}
			variables := s.template.Resources[id].variables()
			if !reflect.DeepEqual(variables["ARCHIVE_DAYS"], map[string]any{"Ref": "ArchiveDays"}) {
				t.Errorf("%s is told %v", id, variables["ARCHIVE_DAYS"])
			}
			roles = append(roles, map[string]any{"Ref": id + "Role"})
		}
		s.has(t, "AWS::IAM::ManagedPolicy", map[string]any{"Roles": roles, "PolicyDocument": map[string]any{
			"Statement": []any{map[string]any{"Action": "events:CreateArchive"}},
		}})
	})
}

// A function that is not changed by the deploy goes on with the secrets that it started with.
func TestEveryFunctionIsStartedAnewByARotation(t *testing.T) {
	source, err := ReadTemplate(sourcePath)
	if err != nil {
		t.Fatal(err)
	}
	globals := source.whole["Globals"].(map[string]any)["Function"].(map[string]any)
	variables := Resource{Properties: globals}.variables()
	if want := map[string]any{"Ref": "SecretsGeneration"}; !reflect.DeepEqual(variables["SECRETS_GENERATION"], want) {
		t.Errorf("a rotation changes %v of all functions", variables["SECRETS_GENERATION"])
	}
	if want := map[string]any{"Ref": "SecretsGeneration"}; !reflect.DeepEqual(source.Resources["OperatorKey"].Properties["SecretsGeneration"], want) {
		t.Error("another stamp makes no other operator's key")
	}
}

// SAM makes no version of a function whose text in the template is as it was, and calls go to the version of before.
func TestAParameterThatIsGivenChangesTheTextOfThoseThatAreToldOfIt(t *testing.T) {
	marks := func(parameters string) map[string]any {
		t.Helper()
		out := filepath.Join(t.TempDir(), "given.json")
		if err := Synthesize(Prod.With(parameters), sourcePath, out); err != nil {
			t.Fatal(err)
		}
		given, err := ReadTemplate(out)
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]any{}
		for _, id := range given.ids(functionType) {
			if mark := given.Resources[id].Properties["Description"]; mark != nil {
				all[id] = mark
			}
		}
		return all
	}
	if got := marks("AlarmEmail=ops@example.com DomainName=api.example.com"); len(got) > 0 {
		t.Errorf("functions are told of the mail and the domain: %v", got)
	}
	sends := marks("SendsPerMinute=100")
	if len(sends) == 0 || sends["SendTaskFunction"] == nil || sends["ReadTaskFunction"] != nil {
		t.Errorf("the sends a minute are told to %v", sends)
	}
	if again := marks("  SendsPerMinute=100 "); !reflect.DeepEqual(again, sends) {
		t.Errorf("the same again is told as %v, and was as %v", again, sends)
	}
	if other := marks("SendsPerMinute=200"); other["SendTaskFunction"] == sends["SendTaskFunction"] {
		t.Errorf("another value is told as %v", other)
	}
	if archive := marks("ArchiveDays=7"); archive["UnparkBusesFunction"] == nil || archive["SendTaskFunction"] != nil {
		t.Errorf("the days of archives are told to %v", archive)
	}
	source, err := ReadTemplate(sourcePath)
	if err != nil {
		t.Fatal(err)
	}
	if all := marks("SecretsGeneration=2"); len(all) != len(source.ids(functionType))-1 { // the deploy's own has no alias
		t.Errorf("a rotation is told to %d functions", len(all))
	}
}

// CodeDeploy begins nothing while an alarm rings that takes new code back.
func TestAnUrgentDeployWaitsForNoAlarm(t *testing.T) {
	out := filepath.Join(t.TempDir(), "urgent.json")
	if err := Synthesize(Prod.Urgent(), sourcePath, out); err != nil {
		t.Fatal(err)
	}
	urgent, err := ReadTemplate(out)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"Type": "AllAtOnce"}
	if got := urgent.Resources["SendTaskFunction"].Properties["DeploymentPreference"]; !reflect.DeepEqual(got, want) {
		t.Errorf("new code comes by %v", got)
	}
}

// What has a name of its own and is kept must not be kept by a first deploy that failed: the next could not make it.
func TestAFirstDeployThatFailedIsNotInTheWayOfTheNext(t *testing.T) {
	s, err := prod()
	if err != nil {
		t.Fatal(err)
	}
	for id, r := range s.template.Resources {
		named := r.Properties["LogGroupName"] != nil || r.Properties["BackupVaultName"] != nil
		if policy := r.whole["DeletionPolicy"]; named && policy != "RetainExceptOnCreate" {
			t.Errorf("%s: %v", id, policy)
		}
	}
}

// What the local AWS lacks is left out by name, and nothing else is.
func TestTheLocalFormLacksOnlyWhatIsNamed(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "local.json")
	if err := Synthesize(Prod.OnLocalAWS(), sourcePath, out); err != nil {
		t.Fatal(err)
	}
	local, err := ReadTemplate(out)
	if err != nil {
		t.Fatal(err)
	}
	s, err := prod()
	if err != nil {
		t.Fatal(err)
	}
	left := Prod.OnLocalAWS()
	for id, r := range s.template.Resources {
		is, there := local.Resources[id]
		if there == left.leavesOut(r.Type, r.Properties) {
			t.Errorf("%s, %s, is there: %v", id, r.Type, there)
		}
		if there {
			for _, name := range left.withoutProperties {
				delete(r.Properties, name)
			}
			if !reflect.DeepEqual(r.Properties, is.Properties) {
				t.Errorf("%s differs", id)
			}
		}
	}
}
