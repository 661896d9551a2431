// Command probe is a function that only answers: what it takes to run it is all of the container engine and of sam, and
// nothing of the application.
package main

import "github.com/aws/aws-lambda-go/lambda"

func main() {
	lambda.Start(func() (string, error) { return "here", nil })
}
