package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
)

// cost is what an endpoint's accepted calls consumed in all.
type cost struct {
	calls              int
	write, read, trips float64
}

// costsSince reads the functions' log lines.
func costsSince(ctx context.Context, config aws.Config, since time.Time) (map[string]cost, error) {
	logs := cloudwatchlogs.NewFromConfig(config)
	costs := map[string]cost{}
	groups := cloudwatchlogs.NewDescribeLogGroupsPaginator(logs, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: aws.String("/aws/lambda/")})
	for groups.HasMorePages() {
		page, err := groups.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, g := range page.LogGroups {
			lines := cloudwatchlogs.NewFilterLogEventsPaginator(logs, &cloudwatchlogs.FilterLogEventsInput{
				LogGroupName: g.LogGroupName, StartTime: aws.Int64(since.UnixMilli()),
			})
			for lines.HasMorePages() {
				page, err := lines.NextPage(ctx)
				if err != nil {
					return nil, err
				}
				for _, e := range page.Events {
					note(costs, aws.ToString(e.Message))
				}
			}
		}
	}
	return costs, nil
}

func note(costs map[string]cost, text string) {
	var l struct {
		Msg, Endpoint         string
		Status                int
		ReadUnits, WriteUnits float64
		RoundTrips            float64
	}
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &l) != nil || l.Msg != "request" || l.Status < 200 || l.Status > 299 {
		return
	}
	c := costs[l.Endpoint]
	c.calls++
	c.write += l.WriteUnits
	c.read += l.ReadUnits
	c.trips += l.RoundTrips
	costs[l.Endpoint] = c
}
