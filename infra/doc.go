// Package infra wraps the application's template.yaml with what only an environment needs: firewall, alarms, dashboard,
// log retention, recovery, encryption, capacity, canary deployment, archives and a domain of its own.
//
// It adds to the template and overrides named properties of it (overrides.go); what the application is and may do
// stays in template.yaml. A module of its own, since CDK is 280 MB and needs node.
package infra
