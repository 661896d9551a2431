package demo

import (
	"fmt"
	"io"

	"baton/client"
)

// GoOn prints what a person needs to go on by hand: the URL, the keys, and calls to paste into a shell.
func GoOn(w World, operatorKey string, t client.Task, out io.Writer) {
	fmt.Fprintf(out, `
To go on, paste into a shell:

export BATON_URL=%s
export OPERATOR_KEY=%s
export SHOP_KEY=%s    # admin of %s
export BANK_KEY=%s    # admin of %s
export SENDER_KEY=%s  # @%s
export OTHER_KEY=%s   # @%s
export WORKER_KEY=%s  # @%s
`, w.URL, operatorKey, w.Shop.Key.Secret, w.Shop.Name, w.Bank.Key.Secret, w.Bank.Name,
		w.Sender.Key, w.Sender.Handle, w.Other.Key, w.Other.Handle, w.Worker.Key, w.Worker.Handle)
	fmt.Fprintf(out, `
# the task that you have just seen
curl -sS "$BATON_URL/v1/a2a/tasks/%[1]s" -H "Authorization: Bearer $SENDER_KEY"
# another one, held until the worker answers
curl -sS "$BATON_URL/v1/a2a/tasks?wait=20" -H "Authorization: Bearer $SENDER_KEY" -H 'Content-Type: application/json' \
  -d '{"target_handle":"@%[2]s","message":"Refund order 7: 12.50 EUR."}'
# what the worker received, newest change first
curl -sS "$BATON_URL/v1/identities/@%[2]s/a2a/tasks?limit=5" -H "Authorization: Bearer $BANK_KEY"
# an agent of the same organization that has no part in it: 404
curl -sS "$BATON_URL/v1/a2a/tasks/%[1]s" -H "Authorization: Bearer $OTHER_KEY"
# a worker by hand: send to @%[3]s and reply with its key
TASK=$(curl -sS "$BATON_URL/v1/a2a/tasks" -H "Authorization: Bearer $SENDER_KEY" -H 'Content-Type: application/json' \
  -d '{"target_handle":"@%[3]s","message":"How many are left?","message_id":"by-hand-1"}' |
  python3 -c 'import json, sys; print(json.load(sys.stdin)["id"])')
curl -sS "$BATON_URL/v1/a2a/tasks/$TASK/reply" -H "Authorization: Bearer $OTHER_KEY" -H 'Content-Type: application/json' \
  -d '{"intent":"complete","message":"Seven."}'
`, t.ID, w.Worker.Handle, w.Other.Handle)
}
