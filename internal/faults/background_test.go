package faults

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"baton/internal/directory"
	"baton/internal/hookqueue"
	"baton/internal/relay"
	"baton/internal/store"
	"baton/internal/task"
	"baton/internal/webhook"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// background is the functions that nobody calls, and what calls them in Lambda: the stream's reader, the queue's, the schedule.
type background struct {
	s      *stage
	arn    string // of the stream
	shards map[string]*shard

	relays []*relay.Relay
	worker *webhook.Worker
	rounds map[string]func(context.Context) error

	mu    sync.Mutex
	held  bool // the stream is not read
	twice bool // each batch goes to two relays at once
	drop  func(events.DynamoDBEventRecord) bool
	kill  func() (after time.Duration, killed bool)
}

type shard struct {
	iterator *string
	pending  []events.DynamoDBEventRecord
}

func newBackground(s *stage) *background {
	b := &background{s: s, shards: map[string]*shard{}, rounds: map[string]func(context.Context) error{}}
	db := dynamodb.NewFromConfig(s.config)
	out, err := s.db.DescribeTable(s.Context(), &dynamodb.DescribeTableInput{TableName: &s.tables.Tasks})
	s.must(err)
	b.arn = *out.Table.LatestStreamArn
	people, tasks := store.NewDirectory(db, s.tables.Directory), store.NewTasks(db, s.tables.Tasks)
	clock := func() func() time.Time { return s.clock.skewed(s.skews[rand.IntN(len(s.skews))]) }
	failures := relay.NewFailureQueue(sqs.NewFromConfig(s.config), s.failuresURL)
	for range 2 {
		b.relays = append(b.relays, relay.New(s.log(db, clock()), s.busesOf(), tasks, people, webhook.NewFan(people, people, s.jobs()), failures))
	}
	b.worker = s.worker(clock())
	buses := eventbridge.NewFromConfig(s.config)
	maker := busMaker{s, relay.NewMaker(buses, people)}
	now := clock()
	log := s.log(db, now)
	b.rounds["sweep-directory"] = directory.NewSweeper(people, task.NewService(tasks, now), maker, now).Erasing(directory.Erasers{
		Task: tasks.Erase, Log: log.Erase, Bus: relay.DeleteBus(buses),
		Deliveries: store.NewDeliveries(db, s.tables.Events, log, now).EraseOf(people),
	}).Round
	b.rounds["unpark-buses"] = relay.NewUnparker(s.log(db, clock()), s.busesOf(), maker, people).All
	b.rounds["check-buses"] = relay.NewChecker(s.log(db, nil), s.busesOf(), clock()).All
	now = clock()
	b.rounds["sweep-webhooks"] = webhook.NewSweeper(store.NewDeliveries(db, s.tables.Events, s.log(db, now), now), s.jobs(), now).Sweep
	return b
}

// hold stops or starts the reading of the stream.
func (b *background) hold(held bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = held
}

// invoke runs a function as Lambda does, for 30 s at most. It may be killed on the way: then it never answers.
func (b *background) invoke(do func(context.Context)) (lived bool) {
	ctx, cancel := context.WithTimeout(b.s.Context(), 30*time.Second)
	defer cancel()
	b.mu.Lock()
	kill := b.kill
	b.mu.Unlock()
	killed := false
	if kill != nil {
		var after time.Duration
		if after, killed = kill(); killed {
			time.AfterFunc(after, cancel)
		}
	}
	do(ctx)
	return !killed || ctx.Err() == nil
}

// run keeps everything going until stop is closed, a round every so often.
func (b *background) run(stop <-chan struct{}) (wait func()) {
	var all sync.WaitGroup
	loop := func(pause time.Duration, do func()) {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(pause):
					do()
				}
			}
		})
	}
	loop(50*time.Millisecond, func() { b.readStream() })
	loop(100*time.Millisecond, func() { b.readQueue() })
	loop(time.Second, b.round)
	return all.Wait
}

// round is what the schedule does each minute.
func (b *background) round() {
	for _, round := range b.rounds {
		b.invoke(func(ctx context.Context) { round(ctx) }) // what fails, the next round does
	}
}

// readStream gives what is in the stream to the relay, and what it did not take again. It says whether there was any.
func (b *background) readStream() (moved bool) {
	b.mu.Lock()
	held := b.held
	b.mu.Unlock()
	if held {
		return false
	}
	out, err := b.s.streams.DescribeStream(b.s.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &b.arn})
	if err != nil {
		b.s.Error(err)
		return false
	}
	for _, described := range out.StreamDescription.Shards {
		id := *described.ShardId
		if b.shards[id] == nil {
			out, err := b.s.streams.GetShardIterator(b.s.Context(), &dynamodbstreams.GetShardIteratorInput{
				StreamArn: &b.arn, ShardId: &id, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
			})
			if err != nil {
				b.s.Error(err)
				return false
			}
			b.shards[id] = &shard{iterator: out.ShardIterator}
		}
		moved = b.readShard(b.shards[id]) || moved
	}
	return moved
}

func (b *background) readShard(s *shard) (moved bool) {
	if len(s.pending) == 0 && s.iterator != nil {
		out, err := b.s.streams.GetRecords(b.s.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: s.iterator})
		if err != nil {
			b.s.Error(err)
			return false
		}
		s.iterator = out.NextShardIterator
		for _, r := range out.Records {
			// The template's filter: what was inserted with a change's mark.
			if _, change := r.Dynamodb.NewImage["e"]; change && r.EventName == streamtypes.OperationTypeInsert {
				record := recordOf(r)
				if b.drop == nil || !b.drop(record) {
					s.pending = append(s.pending, record)
				}
			}
		}
		moved = len(out.Records) > 0
	}
	if len(s.pending) == 0 {
		return moved
	}
	batch := s.pending[:min(len(s.pending), 100)]
	var again map[string]bool
	lived := b.invoke(func(ctx context.Context) {
		var both sync.WaitGroup
		if b.twice {
			both.Go(func() { b.relays[1].Records(ctx, events.DynamoDBEvent{Records: batch}) })
		}
		answer, _ := b.relays[0].Records(ctx, events.DynamoDBEvent{Records: batch})
		both.Wait()
		again = map[string]bool{}
		for _, f := range answer.BatchItemFailures {
			again[f.ItemIdentifier] = true
		}
	})
	if !lived {
		return true
	}
	// Lambda goes on from the first that failed (AWS, "Configuring partial batch response with DynamoDB and Lambda").
	next := slices.IndexFunc(batch, func(r events.DynamoDBEventRecord) bool { return again[r.Change.SequenceNumber] })
	if next < 0 {
		next = len(batch)
	}
	s.pending = s.pending[next:]
	return true
}

func recordOf(r streamtypes.Record) events.DynamoDBEventRecord {
	return events.DynamoDBEventRecord{EventName: string(r.EventName), Change: events.DynamoDBStreamRecord{
		SequenceNumber: *r.Dynamodb.SequenceNumber, Keys: imageOf(r.Dynamodb.Keys), NewImage: imageOf(r.Dynamodb.NewImage),
	}}
}

func imageOf(item map[string]streamtypes.AttributeValue) map[string]events.DynamoDBAttributeValue {
	image := map[string]events.DynamoDBAttributeValue{}
	for name, v := range item {
		switch v := v.(type) {
		case *streamtypes.AttributeValueMemberB:
			image[name] = events.NewBinaryAttribute(v.Value)
		case *streamtypes.AttributeValueMemberS:
			image[name] = events.NewStringAttribute(v.Value)
		case *streamtypes.AttributeValueMemberN:
			image[name] = events.NewNumberAttribute(v.Value)
		}
	}
	return image
}

// readQueue gives what is in the queue of deliveries to the worker. It says whether there was any.
func (b *background) readQueue() (moved bool) {
	url := &b.s.deliveriesURL
	out, err := b.s.queues.ReceiveMessage(b.s.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: url, MaxNumberOfMessages: 10,
		MessageSystemAttributeNames: []sqstypes.MessageSystemAttributeName{sqstypes.MessageSystemAttributeNameApproximateReceiveCount},
	})
	if err != nil {
		b.s.Error(err)
		return false
	}
	var batch events.SQSEvent
	for _, m := range out.Messages {
		batch.Records = append(batch.Records, events.SQSMessage{
			MessageId: *m.MessageId, ReceiptHandle: *m.ReceiptHandle, Body: *m.Body, Attributes: m.Attributes,
		})
	}
	if len(batch.Records) == 0 {
		return false
	}
	failed := map[string]bool{}
	if !b.invoke(func(ctx context.Context) {
		answer, _ := hookqueue.Handle(b.worker)(ctx, batch)
		for _, f := range answer.BatchItemFailures {
			failed[f.ItemIdentifier] = true
		}
	}) {
		return true
	}
	for _, m := range batch.Records {
		if !failed[m.MessageId] {
			if _, err := b.s.queues.DeleteMessage(b.s.Context(), &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: &m.ReceiptHandle}); err != nil {
				b.s.Error(err)
			}
		}
	}
	return true
}

// settle lets the time go by, with all that follows, until nothing is left to be done.
func (s *stage) settle() {
	s.Helper()
	for range 150 {
		for s.background.readStream() || s.background.readQueue() {
		}
		waiting := s.waiting()
		if waiting == "" {
			return
		}
		s.clock.forward(61 * time.Second)
		if waiting == "deliveries" {
			s.clock.forward(10 * time.Minute)
		}
		s.background.round()
	}
	s.Errorf("there is still work to do after hours: %s", s.waiting())
}

// waiting names something that is still to be done, "" when there is nothing.
func (s *stage) waiting() string {
	s.Helper()
	ctx := s.Context()
	log := s.log(s.db, nil)
	if parked, err := log.Parked(ctx); err != nil || len(parked) > 0 {
		return "buses"
	}
	if moved, err := log.Moved(ctx); err != nil || len(moved) > 0 {
		return "looks at buses"
	}
	if jobs, err := store.NewDirectory(s.db, s.tables.Directory).Jobs(ctx); err != nil || len(jobs) > 0 {
		return "jobs"
	}
	out, err := s.queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: &s.deliveriesURL, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll},
	})
	s.must(err)
	for _, name := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"} {
		if n := out.Attributes[name]; n != "0" && n != "" {
			time.Sleep(200 * time.Millisecond) // until they are to be seen again
			return "queue"
		}
	}
	for _, o := range s.traffic.World.Organizations {
		organization, _ := task.ParseID(o.ID)
		hooks, err := s.hooks().Hooks(ctx, organization)
		s.must(err)
		for _, h := range hooks {
			for before := int64(0); ; {
				page, next, err := s.hooks().Deliveries(ctx, organization, h.ID, before, 100)
				s.must(err)
				if slices.ContainsFunc(page, func(d webhook.Delivery) bool { return d.Status == webhook.Pending }) {
					return "deliveries"
				}
				if before = next; next == 0 {
					break
				}
			}
		}
	}
	return ""
}

// failures is how many messages are in the failure queue.
func (s *stage) failures() string {
	s.Helper()
	out, err := s.queues.GetQueueAttributes(s.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &s.failuresURL, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll},
	})
	s.must(err)
	return out.Attributes["ApproximateNumberOfMessages"]
}
