package rights

// byLambda are the policies that the transform attaches for what Lambda itself does with a function's role. No code of ours
// makes these calls and the local AWS makes them without the role, so they are not among the calls that were noted; and
// they are AWS's own policies, which can't be narrowed.
var byLambda = []struct {
	Role     string // "" every function's
	Policy   string
	Why      string
	Document string
}{
	{"", "AWSLambdaBasicExecutionRole", "Lambda writes the function's log", "https://docs.aws.amazon.com/lambda/latest/dg/lambda-intro-execution-role.html"},
	{"RelayEventsFunctionRole", "AWSLambdaDynamoDBExecutionRole", "Lambda reads the stream of changes", "https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-eventsourcemapping.html"},
	{"DeliverWebhooksFunctionRole", "AWSLambdaSQSQueueExecutionRole", "Lambda receives deliveries and deletes them", "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html"},
}
