package system

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"baton/internal/localaws"
	"baton/internal/localstack"
	"baton/internal/rights"
)

// TestMain looks, after the tests, at what they left behind: what the logs hold, what was refused, and, after a whole run
// that went well, which permissions were used.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if shared.err == nil && shared.world.URL != "" {
		whole := code == 0
		for _, name := range []string{"test.run", "test.skip"} {
			whole = whole && flag.Lookup(name).Value.String() == ""
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		if err := afterwards(ctx, whole); err != nil {
			fmt.Println("--- FAIL: after all tests\n" + err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

func afterwards(ctx context.Context, whole bool) error {
	stack, dir, err := localaws.Deployed()
	if err != nil {
		return err
	}
	server, err := stack.Server()
	if err != nil {
		return err
	}
	calls, err := rights.ReadCalls(filepath.Join(dir, "calls.jsonl"))
	if err != nil {
		return err
	}
	roles, err := server.Roles(ctx, localstack.Baton.Stack)
	if err != nil {
		return err
	}
	silent := logsAreSilent(ctx, server, dir)
	if !whole {
		return errors.Join(silent, problems("what was refused", rights.Refused(roles, calls)))
	}
	return errors.Join(silent, rightsAreExact(roles, calls))
}

// rightsAreExact says which role may do something that it never did, or did something that it may not; and whether any
// other permission, one less or one more, would have been noticed.
func rightsAreExact(roles []localstack.Role, calls []rights.Call) error {
	judged, wrong := rights.Judge(roles, calls)
	grants := 0
	for _, j := range judged {
		grants += len(j.Grants)
	}
	tried, unnoticed := 0, []string(nil)
	if len(wrong) == 0 {
		tried, unnoticed = rights.Unnoticed(judged)
	}
	fmt.Printf("permissions: %d of %d roles; %d changes of one of them tried\n", grants, len(judged), tried)
	return problems("permissions that are not exactly what was used", append(wrong, unnoticed...))
}

func problems(what string, list []string) error {
	if len(list) == 0 {
		return nil
	}
	text := what + ":"
	for _, p := range list {
		text += "\n    " + p
	}
	return fmt.Errorf("%s", text)
}
