package main

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Every queue of what failed that the template has is served here.
func TestEveryFailureQueueIsServed(t *testing.T) {
	template, err := os.ReadFile("../../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var served []string
	for _, f := range failed(aws.Config{Region: "us-east-1"}, nil) {
		served = append(served, f.name)
	}
	there := regexp.MustCompile(`(?m)^  Failed(\w+)Queue:`).FindAllStringSubmatch(string(template), -1)
	if len(there) < 2 {
		t.Fatalf("the template has %v", there)
	}
	for _, q := range there {
		if name := "failed-" + strings.ToLower(q[1]); !slices.Contains(served, name) {
			t.Errorf("nobody serves %s", name)
		}
		if !strings.Contains(string(template), "\n  Failed"+q[1]+"QueueUrl:") {
			t.Errorf("the outputs don't say where Failed%sQueue is", q[1])
		}
	}
}

func TestDo(t *testing.T) {
	broken := errors.New("broken")
	queue := func(name string, err error) failures {
		act := func(what string) func(context.Context, func(string)) error {
			return func(_ context.Context, show func(string)) error { show(what); return err }
		}
		return failures{name, act("looked"), act("redriven")}
	}
	all := []failures{queue("failed-a", broken), queue("failed-b", nil)}
	for args, want := range map[string]string{
		"look":             "failed-a: looked\nfailed-a: 1\nfailed-b: looked\nfailed-b: 1\nfailed-a: broken",
		"redrive failed-b": "failed-b: redriven\nfailed-b: 1\n",
		"redrive failed-c": "say look or redrive, and perhaps one of failed-a failed-b",
		"eat":              "say look or redrive, and perhaps one of failed-a failed-b",
		"":                 "say look or redrive, and perhaps one of failed-a failed-b",
	} {
		var out strings.Builder
		if err := do(t.Context(), all, strings.Fields(args), &out); err != nil {
			out.WriteString(err.Error())
		}
		if out.String() != want {
			t.Errorf("%q: %q, want %q", args, out.String(), want)
		}
	}
}
