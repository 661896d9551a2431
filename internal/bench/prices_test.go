package bench

// The list prices that a bill is made of: on demand, first tier, without the free tier, taxes and discounts. Numbers that
// AWS's pages fill in by script were read where others quote them; the sources say which.
const (
	pricesRegion = "us-east-1"
	pricesSeen   = "2026-12-02"
)

// price is what one unit costs in dollars.
type price struct {
	Name    string  `json:"name"`
	Dollars float64 `json:"usd"`
	Per     string  `json:"per"`
	Source  string  `json:"source"`
}

const million = 1e6

var prices = struct {
	writeUnit, readUnit, tableStorage, recovery            price
	lambdaRequest, lambdaSecond, lambdaSecondX86           price
	restRequest, httpRequest, firewallRequest              price
	busEvent, streamRead, logBytes, transfer, customMetric price
}{
	writeUnit:       price{"write unit", 0.625 / million, "unit", "aws.amazon.com/dynamodb/pricing/on-demand, the number as airbyte.com quotes it"},
	readUnit:        price{"read unit", 0.125 / million, "unit", "aws.amazon.com/dynamodb/pricing/on-demand, the number as airbyte.com quotes it"},
	tableStorage:    price{"table storage", 0.25, "GB-month", "aws.amazon.com/dynamodb/pricing/on-demand"},
	recovery:        price{"point-in-time recovery", 0.20, "GB-month", "aws.amazon.com/dynamodb/pricing/on-demand"},
	streamRead:      price{"stream read by Lambda", 0, "call", "AWS, \"Evaluate your DynamoDB streams usage\""},
	lambdaRequest:   price{"Lambda request", 0.20 / million, "call", "aws.amazon.com/lambda/pricing"},
	lambdaSecond:    price{"Lambda, arm64", 0.0000133334, "GB-second", "aws.amazon.com/lambda/pricing"},
	lambdaSecondX86: price{"Lambda, x86", 0.0000166667, "GB-second", "aws.amazon.com/lambda/pricing"},
	restRequest:     price{"REST API request", 3.50 / million, "call", "aws.amazon.com/api-gateway/pricing"},
	httpRequest:     price{"HTTP API request", 1.00 / million, "call", "aws.amazon.com/api-gateway/pricing"},
	firewallRequest: price{"firewall request", 0.60 / million, "call", "aws.amazon.com/waf/pricing, the number as c3x.dev quotes it"},
	busEvent:        price{"event put on a bus", 1.00 / million, "64 KB", "aws.amazon.com/eventbridge/pricing"},
	logBytes:        price{"log lines, taken in", 0.50, "GB", "aws.amazon.com/cloudwatch/pricing, the number as c3x.dev quotes it"},
	transfer:        price{"data to the internet", 0.09, "GB", "aws.amazon.com/api-gateway/pricing, the number as apigatewaycost.com quotes it"},
	customMetric:    price{"metric", 0.30, "month", "aws.amazon.com/cloudwatch/pricing, the number as signoz.io quotes it"},
}
