package infra

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/cloudformationinclude"
	"github.com/aws/jsii-runtime-go"
)

// wrap is a stack in the making: the included template and what its environment adds.
type wrap struct {
	awscdk.Stack
	environment Environment
	source      Template
	included    cloudformationinclude.CfnInclude

	parameters parameters
}

// NewStack wraps the template at the path for an environment.
func NewStack(app awscdk.App, environment Environment, path string) (awscdk.Stack, error) {
	source, err := ReadTemplate(path)
	if err != nil {
		return nil, err
	}
	stack := awscdk.NewStack(app, jsii.String("baton-"+environment.Name), &awscdk.StackProps{
		Description:        jsii.String("Baton, durable agent-to-agent tasks: " + environment.Name),
		AnalyticsReporting: jsii.Bool(false),
		// The template is deployed by sam, which needs nothing of CDK's in the account.
		Synthesizer: awscdk.NewBootstraplessSynthesizer(&awscdk.BootstraplessSynthesizerProps{}),
	})
	w := &wrap{Stack: stack, environment: environment, source: source}
	w.included = cloudformationinclude.NewCfnInclude(stack, jsii.String("Application"), &cloudformationinclude.CfnIncludeProps{
		TemplateFile: &path,
	})
	w.included.GetParameter(jsii.String("Stage")).SetDefault(environment.Name)

	w.addParameters()
	w.addLogs()
	w.addRecovery()
	w.addEncryption()
	w.addCapacity()
	w.addFirewall()
	w.addDomain()
	w.addArchives()
	rollback := w.addAlarms()
	w.addDeployment(rollback)
	w.addDashboard()
	w.acknowledge()
	return stack, nil
}

// Synthesize writes the wrapped template.
func Synthesize(environment Environment, path, out string) error {
	dir, err := os.MkdirTemp("", "baton-infra-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: &dir, AnalyticsReporting: jsii.Bool(false), TreeMetadata: jsii.Bool(false)})
	stack, err := NewStack(app, environment, path)
	if err != nil {
		return err
	}
	app.Synth(nil)
	text, err := os.ReadFile(filepath.Join(dir, *stack.TemplateFile()))
	if err != nil {
		return err
	}
	var template map[string]any
	if err := json.Unmarshal(text, &template); err != nil {
		return err
	}
	environment.leaveOut(template)
	if text, err = json.MarshalIndent(template, "", " "); err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

// leaveOut removes what the place of the deploy does not know.
func (e Environment) leaveOut(template map[string]any) {
	resources, _ := template["Resources"].(map[string]any)
	for id, r := range resources {
		resource, _ := r.(map[string]any)
		properties, _ := resource["Properties"].(map[string]any)
		if kind, _ := resource["Type"].(string); e.leavesOut(kind, properties) {
			delete(resources, id)
		}
		for _, name := range e.withoutProperties {
			delete(properties, name)
		}
	}
}

// acknowledge answers what CDK's look at the template warns of.
func (w *wrap) acknowledge() {
	awscdk.Validations_Of(w.Stack).Acknowledge(
		&awscdk.Acknowledgment{Id: jsii.String("CloudFormation-Validate::F1020"),
			Reason: jsii.String("Api.Stage is SAM's name for the stage that it makes")},
		&awscdk.Acknowledgment{Id: jsii.String("CloudFormation-Validate::W1030"),
			Reason: jsii.String("the key's empty default stands for no key, and the condition on it keeps it out")},
	)
}

// functions are the ids of the functions, in order.
func (w *wrap) functions() []string { return w.source.ids(functionType) }

// serving are the functions that answer requests, working those that something else starts again and again.
func (w *wrap) serving() []string {
	return w.startedBy(func(kind string) bool { return kind == "Api" })
}
func (w *wrap) working() []string {
	return w.startedBy(func(kind string) bool { return kind != "Api" })
}

func (w *wrap) startedBy(by func(string) bool) []string {
	return slices.DeleteFunc(w.functions(), func(id string) bool {
		return !slices.ContainsFunc(w.source.Resources[id].events(), by)
	})
}

// ref is a reference to a resource of the template, by its id there.
func (w *wrap) ref(id string) *string { return awscdk.Fn_Ref(&id) }

// arn is the ARN of a resource of the template.
func (w *wrap) arn(id string) *string { return awscdk.Fn_GetAtt(&id, jsii.String("Arn")).ToString() }

// stage is the template's parameter.
func (w *wrap) stage() *string { return awscdk.Fn_Ref(jsii.String("Stage")) }

// named is a name that tells the installation: several may be in an account.
func (w *wrap) named(name string) *string {
	return awscdk.Fn_Sub(jsii.String("baton-${Stage}-"+name), nil)
}

// override sets a property of one of the template's resources. It is the only way in which one is changed, and the
// test has the list of them.
func (w *wrap) override(id, property string, value any) {
	w.included.GetResource(&id).AddOverride(&property, value)
}
