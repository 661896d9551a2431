// Command make-operator-key serves no route: it is the template's custom resource OperatorKey.
package main

import (
	"time"

	"baton/internal/directory"
	"baton/internal/lambdaenv"
	"baton/internal/operatorkey"
	"baton/internal/store"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
)

func main() {
	config := lambdaenv.AWS()
	keys := directory.NewService(
		store.NewDirectory(dynamodb.NewFromConfig(config), lambdaenv.Var("DIRECTORY_TABLE")),
		directory.Options{Mint: directory.NewMint(lambdaenv.Var("KEY_STAMP")), Now: time.Now},
	)
	lambda.Start(cfn.LambdaWrap(operatorkey.Handle(
		keys, secretsmanager.NewFromConfig(config), lambdaenv.Var("OPERATOR_KEY_SECRET_ARN"),
	)))
}
