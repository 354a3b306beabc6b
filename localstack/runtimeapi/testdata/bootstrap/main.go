// Command bootstrap is a Lambda function for the tests of runtimeapi: the payload's verb says how it ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

type request struct {
	Verb string `json:"verb"`
	Text string `json:"text"`
}

func main() {
	switch os.Getenv("BOOTSTRAP_INIT") {
	case "exit":
		fmt.Fprintln(os.Stderr, "the configuration is wrong")
		os.Exit(3)
	case "hang":
		select {}
	case "report":
		address := "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/init/error"
		body := strings.NewReader(`{"errorType":"Config.Missing","errorMessage":"no flow file"}`)
		if response, err := http.Post(address, "application/json", body); err == nil {
			_ = response.Body.Close()
		}
		os.Exit(1)
	}
	var options []lambda.Option
	if os.Getenv("BOOTSTRAP_SIGTERM") != "" {
		options = append(options, lambda.WithEnableSIGTERM(func() {
			fmt.Fprintln(os.Stderr, "saw SIGTERM")
			os.Exit(0)
		}))
	}
	lambda.StartWithOptions(handle, options...)
}

func handle(ctx context.Context, r request) (map[string]any, error) {
	switch r.Verb {
	case "echo":
		meta, _ := lambdacontext.FromContext(ctx)
		deadline, _ := ctx.Deadline()
		return map[string]any{
			"text": r.Text, "pid": os.Getpid(), "name": lambdacontext.FunctionName, "arn": meta.InvokedFunctionArn,
			"deadline": deadline.UnixMilli(), "own": os.Getenv("OWN"), "home": os.Getenv("HOME"),
		}, nil
	case "fail":
		return nil, errors.New(r.Text)
	case "panic":
		panic(r.Text)
	case "exit":
		os.Exit(7)
	case "hang":
		fmt.Fprintln(os.Stderr, "hanging")
		select {}
	case "large":
		return map[string]any{"text": strings.Repeat("x", 7<<20)}, nil
	}
	return nil, fmt.Errorf("unknown verb %q", r.Verb)
}
