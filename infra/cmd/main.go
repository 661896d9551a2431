// Command cmd writes the wrapped template: see usage.
package main

import (
	"flag"
	"fmt"
	"os"

	"baton/infra"
)

func main() {
	name := flag.String("env", "dev", "environment: dev or prod")
	template := flag.String("template", "../.aws-sam/build/template.yaml", "the template to wrap, as built")
	out := flag.String("out", "", "where to write; it must be in the template's folder, since paths in it stay as they are")
	local := flag.Bool("local", false, "leave out what the local AWS does not know")
	urgent := flag.Bool("urgent", false, "new code takes all calls at once, whatever alarm rings")
	parameters := flag.String("parameters", "", "those that the deploy is given, as Name=value …")
	flag.Parse()
	if err := synthesize(*name, *template, *out, *local, *urgent, *parameters); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func synthesize(name, template, out string, local, urgent bool, parameters string) error {
	environment, err := infra.Find(name)
	if err != nil {
		return err
	}
	if local {
		environment = environment.OnLocalAWS()
	}
	if urgent {
		environment = environment.Urgent()
	}
	environment = environment.With(parameters)
	return infra.Synthesize(environment, template, out)
}
