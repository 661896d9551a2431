// Package localstack runs the application on this machine: it sets up the Python environments of the pinned tools,
// starts and stops the local AWS, builds the functions, deploys template.yaml, and says where things are in
// .local/stack.json (contract section 8).
//
// Nothing here is part of the deployed application. What only tests need is in localaws.
package localstack
