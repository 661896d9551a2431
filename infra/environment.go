package infra

import (
	"fmt"
	"slices"
	"strings"
)

// Environment is how an installation is kept. What differs between accounts (domain, keys, capacity) are parameters of
// the stack; this is what differs between an installation that may be lost and one that may not.
type Environment struct {
	Name string // also the default of the template's Stage

	LogDays    int    // how long log lines are kept
	Protected  bool   // tables and secrets outlive the stack and refuse deletion
	Backups    bool   // daily and monthly ones, in a vault
	Deployment string // how calls move to new code, a type of SAM's DeploymentPreference
	CallsPerIP int    // that one address may make in five minutes, before the firewall refuses it

	// Of one deploy.
	urgent   bool
	settings map[string]string // by name: the parameters that are given to it

	// What is left out where the stack is deployed to a local AWS.
	without           map[string]string // types of resources, with the property that it takes for them to be left out, or ""
	withoutProperties []string
}

// Dev may be lost: it can be deleted with its data, and new code takes all calls at once.
var Dev = Environment{
	Name: "dev", LogDays: 14, Deployment: "AllAtOnce", CallsPerIP: 100_000,
}

// Prod may not be lost.
var Prod = Environment{
	Name: "prod", LogDays: 90, Protected: true, Backups: true, Deployment: "Canary10Percent5Minutes", CallsPerIP: 100_000,
}

// Find is the environment of that name.
func Find(name string) (Environment, error) {
	all := []Environment{Dev, Prod}
	i := slices.IndexFunc(all, func(e Environment) bool { return e.Name == name })
	if i < 0 {
		return Environment{}, fmt.Errorf("no environment %q: dev and prod are there", name)
	}
	return all[i], nil
}

// Urgent is the environment for one deploy that must not wait: new code takes all calls at once, whatever alarm rings.
// CodeDeploy refuses to begin while an alarm rings that takes new code back, so the code that mends what it rings for
// could not be deployed.
func (e Environment) Urgent() Environment {
	e.Deployment, e.urgent = "AllAtOnce", true
	return e
}

// With is the environment for a deploy that is given parameters, as sam takes them: Name=value …
func (e Environment) With(parameters string) Environment {
	e.settings = map[string]string{}
	name := ""
	for _, word := range strings.Fields(parameters) {
		if n, value, ok := strings.Cut(word, "="); ok {
			name = n
			e.settings[name] = value
		} else {
			e.settings[name] += " " + word // a value of several words
		}
	}
	return e
}

// OnLocalAWS is the environment without what the local AWS does not know, by name. Its CloudFormation refuses a template
// that has one of these types, and an alarm that adds up; the property stands for CodeDeploy, which SAM makes of it.
func (e Environment) OnLocalAWS() Environment {
	e.without = map[string]string{
		"AWS::Backup::BackupSelection":     "",
		"AWS::CloudWatch::Alarm":           "Metrics",
		"AWS::WAFv2::LoggingConfiguration": "",
		"AWS::WAFv2::WebACLAssociation":    "",
	}
	e.withoutProperties = []string{"DeploymentPreference"}
	return e
}

// leavesOut says whether a resource is left out.
func (e Environment) leavesOut(kind string, properties map[string]any) bool {
	property, named := e.without[kind]
	_, has := properties[property]
	return named && (property == "" || has)
}
