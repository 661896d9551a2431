package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"baton/client"
)

// Talk lets the world's sender ask its worker for a refund, answer what the worker asks, and tell out what is said,
// until the task has ended.
func Talk(ctx context.Context, w World, out io.Writer) (client.Task, error) {
	start := time.Now()
	t, err := w.Sender.Client.Send(ctx, client.Send{To: "@" + w.Worker.Handle, Draft: client.Draft{Parts: []client.Part{
		{Text: "Please refund order 4182, the customer sent it back."},
		{Data: json.RawMessage(`{"order":4182,"reason":"returned"}`)},
	}}})
	if err != nil {
		return t, fmt.Errorf("send: %w", err)
	}
	fmt.Fprintf(out, "Task %s of @%s for @%s\n", t.ID, w.Sender.Handle, w.Worker.Handle)
	told := 0
	tell := func(t client.Task) {
		for _, m := range t.Messages[told:] {
			who := w.Sender.Handle
			if m.Role == "agent" {
				who = w.Worker.Handle
			}
			fmt.Fprintf(out, "  %5d ms  %-16s %s\n", m.CreatedAt.Sub(t.CreatedAt).Milliseconds(), "@"+who, m.Text())
			for _, p := range m.Parts {
				if p.Data != nil {
					fmt.Fprintf(out, "  %27s %s\n", "", p.Data)
				}
			}
		}
		told = len(t.Messages)
	}
	for answered := 0; ; {
		if t, err = w.Sender.Client.Wait(ctx, t.ID); err != nil {
			return t, fmt.Errorf("wait for the worker: %w", err)
		}
		tell(t)
		if t.State.Terminal() {
			fmt.Fprintf(out, "  %s after %d ms\n", t.State, time.Since(start).Milliseconds())
			return t, nil
		}
		if answered++; answered > 3 {
			return t, fmt.Errorf("the worker asks again and again: %s", t.Question)
		}
		if t, err = w.Sender.Client.Add(ctx, t.ID, client.Draft{Message: "42.00 EUR, to the card it was paid with."}); err != nil {
			return t, fmt.Errorf("answer the worker: %w", err)
		}
		tell(t)
	}
}
