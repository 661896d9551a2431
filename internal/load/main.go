// Command load drives the deployed application as many organizations' agents would, for minutes, and says how it went: calls a
// second, times, units, and whether every invariant of internal/traffic held.
//
// Each worker makes its next call when it has the answer to the one before: so the load is what the stack takes. It is a
// module of its own, so that what it needs is not in the application's.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"baton/client"
	"baton/internal/localstack"
	"baton/internal/store"
	"baton/internal/task"
	"baton/internal/traffic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// leaseSeconds is the shortest lease that there is.
const leaseSeconds = 30

func main() {
	stack := flag.String("stack", "../../.local/stack.json", "the stack file of make up")
	duration := flag.Duration("duration", 2*time.Minute, "for how long")
	organizations := flag.Int("organizations", 20, "how many organizations")
	agents := flag.Int("agents", 5, "agents of each")
	workers := flag.Int("workers", 8, "calls at once")
	rate := flag.Int("rate", 0, "calls a second at most, 0 for as many as the workers make")
	trouble := flag.String("trouble", "", "what happens in the middle: relay (is stopped), kill (functions are), bus (some are deleted)")
	flag.Parse()
	if err := run(context.Background(), *stack, *duration, *organizations, *agents, *workers, *rate, *trouble); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, file string, duration time.Duration, organizations, agents, workers, rate int, trouble string) error {
	stack, err := localstack.ReadStack(file)
	if err != nil {
		return err
	}
	server, err := stack.Server()
	if err != nil {
		return err
	}
	config := server.Config()
	ears := &traffic.Ears{Buses: eventbridge.NewFromConfig(config), Queues: sqs.NewFromConfig(config), Prefix: stack.Outputs["BusPrefix"]}
	fmt.Printf("make %d organizations of %d agents, and one that has no part in it\n", organizations, agents)
	pool := &http.Transport{MaxIdleConnsPerHost: 2 * workers}
	web := &http.Client{Transport: pool}
	world, err := traffic.Make(ctx, stack.APIURL, stack.OperatorKey, organizations, agents, client.WithHTTPClient(web))
	if err != nil {
		return err
	}
	for _, o := range world.Organizations {
		id, _ := task.ParseID(o.ID)
		if err := ears.Listen(ctx, id); err != nil {
			return err
		}
	}

	db := dynamodb.NewFromConfig(config)
	tasks := store.NewTasks(db, stack.Outputs["TasksTable"])
	log := store.NewLog(db, stack.Outputs["EventsTable"], tasks, time.Now)
	began := time.Now()
	m := &mix{world: world, ledger: traffic.NewLedger(), under: map[string]*call{}}
	attacker := vegeta.NewAttacker(
		vegeta.Client(&http.Client{Transport: wire{m, pool}, Timeout: 40 * time.Second}),
		vegeta.Workers(uint64(workers)), vegeta.MaxWorkers(uint64(workers)),
	)
	fmt.Printf("%d workers for %v …\n\n", workers, duration)
	var met string
	var unmet error
	over := make(chan struct{})
	go func() {
		defer close(over)
		met, unmet = makeTrouble(ctx, trouble, duration, stack, ears, world, func() (int64, error) {
			sum, _, err := heads(ctx, log, world)
			return sum, err
		})
	}()
	f := &figures{operations: map[string]*vegeta.Metrics{}}
	for r := range attacker.Attack(m.target, vegeta.Rate{Freq: rate, Per: time.Second}, duration, "mix") {
		f.add(r)
	}
	attacked := time.Now()
	if <-over; unmet != nil {
		return unmet
	}
	if met != "" {
		fmt.Println(met)
	}
	behind, err := settled(ctx, log, world, attacked)
	if err != nil {
		return err
	}
	costs, err := costsSince(ctx, config, began)
	if err != nil {
		return err
	}
	f.report(os.Stdout, m.ledger.Counts(), costs)
	fmt.Printf("\nthe logs stood still %.1f s after the last call\n", behind.Seconds())

	time.Sleep(time.Until(attacked.Add((leaseSeconds + 1) * time.Second))) // every lease has run out
	driver := &traffic.Driver{World: world, Ledger: m.ledger, Lease: leaseSeconds * time.Second}
	stuck := driver.Finish(ctx)
	if _, err := settled(ctx, log, world, time.Now()); err != nil {
		return err
	}
	heard, err := ears.Heard(ctx)
	if err != nil {
		return err
	}
	found, err := traffic.Check(ctx, world, m.ledger, traffic.Evidence{Tasks: tasks, Log: log, Told: map[string][]traffic.Told{"bus": heard}})
	if err != nil {
		return err
	}
	found[traffic.Free] = append(found[traffic.Free], stuck...)
	return verdict(os.Stdout, found)
}

// settled waits until no log has grown for some seconds and none waits for its bus, and says how long after a time the last
// one grew.
func settled(ctx context.Context, log *store.Log, world *traffic.World, since time.Time) (time.Duration, error) {
	last, changed := int64(-1), since
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		sum, parked, err := heads(ctx, log, world)
		if err != nil {
			return 0, err
		}
		if sum != last || parked {
			last, changed = sum, time.Now()
		}
		if time.Since(changed) > 5*time.Second {
			return max(changed.Sub(since), 0), nil
		}
	}
	return 0, fmt.Errorf("the logs did not come to rest within ten minutes")
}

// heads are how many entries all logs have, and whether one of them waits for its bus.
func heads(ctx context.Context, log *store.Log, world *traffic.World) (sum int64, parked bool, err error) {
	for _, o := range world.Organizations {
		id, _ := task.ParseID(o.ID)
		head, err := log.Head(ctx, id)
		if err != nil {
			return 0, false, err
		}
		sum += head.Sequence
		parked = parked || head.ParkedFrom != 0
	}
	return sum, parked, nil
}
