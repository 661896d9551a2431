package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"baton/internal/localstack"
	"baton/internal/task"
	"baton/internal/traffic"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// makeTrouble does to the deployed stack what a test in one process can't. It returns when the trouble is over, and says how
// often it struck; one that never did is an error.
func makeTrouble(ctx context.Context, what string, duration time.Duration, stack localstack.Stack, ears *traffic.Ears, world *traffic.World, logged func() (int64, error)) (string, error) {
	time.Sleep(duration / 4)
	var err error
	n := 0
	switch what {
	case "relay":
		n, err = stopRelay(ctx, stack, duration/2, logged)
	case "kill":
		n, err = killFunctions(duration / 2)
	case "bus":
		n, err = replaceBuses(ctx, ears, world)
	default:
		return "", nil
	}
	if err == nil && n == 0 {
		err = errors.New("it never struck")
	}
	if err != nil {
		return "", fmt.Errorf("trouble (%s): %w", what, err)
	}
	return fmt.Sprintf("trouble (%s) struck %d times", what, n), nil
}

// stopRelay stops the reading of the stream for a while, and sees that nothing is told then. A batch that is under way at first
// may still be.
func stopRelay(ctx context.Context, stack localstack.Stack, pause time.Duration, logged func() (int64, error)) (n int, err error) {
	server, err := stack.Server()
	if err != nil {
		return 0, err
	}
	functions := lambda.NewFromConfig(server.Config())
	mappings, err := functions.ListEventSourceMappings(ctx, &lambda.ListEventSourceMappingsInput{})
	if err != nil {
		return 0, err
	}
	enable := func(on bool) error {
		for _, m := range mappings.EventSourceMappings {
			if strings.Contains(*m.EventSourceArn, stack.Outputs["TasksTable"]) {
				n++
				_, err := functions.UpdateEventSourceMapping(ctx, &lambda.UpdateEventSourceMappingInput{UUID: m.UUID, Enabled: &on})
				if err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := enable(false); err != nil {
		return n, err
	}
	time.Sleep(pause / 4)
	before, err := logged()
	time.Sleep(pause * 3 / 4)
	after, err2 := logged()
	if err = errors.Join(err, err2, enable(true)); err == nil && after != before {
		err = fmt.Errorf("it did not stop: the logs grew from %d to %d entries", before, after)
	}
	return n, err
}

// killFunctions kills a function of the local AWS, whatever it is doing, several times a second.
func killFunctions(pause time.Duration) (n int, err error) {
	text, err := os.ReadFile("../../.local/server.json")
	if err != nil {
		return 0, err
	}
	var server localstack.Server
	if err := json.Unmarshal(text, &server); err != nil {
		return 0, err
	}
	for until := time.Now().Add(pause); time.Now().Before(until); time.Sleep(300 * time.Millisecond) {
		if all := childrenOf(server.PID); len(all) > 0 {
			if syscall.Kill(all[rand.IntN(len(all))], syscall.SIGKILL) == nil {
				n++
			}
		}
	}
	return n, nil
}

// childrenOf are the functions that a local AWS runs.
func childrenOf(server int) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		_, after, ok := strings.Cut(string(text), "(bootstrap) ")
		fields := strings.Fields(after)
		if !ok || len(fields) < 2 || fields[1] != strconv.Itoa(server) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// replaceBuses deletes some organizations' buses, and makes them anew a while later.
func replaceBuses(ctx context.Context, ears *traffic.Ears, world *traffic.World) (n int, err error) {
	some := world.Organizations[:(len(world.Organizations)+2)/3]
	for _, o := range some {
		id, _ := task.ParseID(o.ID)
		if err := ears.DropBus(ctx, id); err != nil {
			return n, err
		}
		n++
	}
	time.Sleep(5 * time.Second)
	for _, o := range some {
		id, _ := task.ParseID(o.ID)
		if err := ears.MakeBus(ctx, id); err != nil {
			return n, err
		}
	}
	return n, nil
}
