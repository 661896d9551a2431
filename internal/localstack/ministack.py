# Runs the local AWS in this process. With a folder as its argument it ends as soon as standard input is closed, with
# everything in its process group, and removes the folder: so a server made by a test never outlives the test.
import os
import shutil
import signal
import sys
import threading

if len(sys.argv) > 1:
    folder = sys.argv.pop()

    def leave():
        while sys.stdin.buffer.read(4096):
            pass
        shutil.rmtree(folder, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=leave, daemon=True).start()

from ministack.app import main
from ministack.core import iam_actions
from ministack.services import dynamodb

resource_arn = iam_actions.extract_resource_arn


def bus_arn(service, method, path, headers, body, *rest):
    """For what is done to a bus the server asks for rights to a rule of that name; AWS asks for rights to the bus."""
    arn = resource_arn(service, method, path, headers, body, *rest)
    if service == "events" and headers.get("x-amz-target", "").endswith("EventBus"):
        return arn.replace(":rule/default/", ":event-bus/")
    return arn


iam_actions.extract_resource_arn = bus_arn

action = iam_actions.extract_iam_action


def queue_action(service, *request):
    """SQS has no rights to its batch operations: AWS asks for those to the single ones."""
    asked = action(service, *request)
    return asked.removesuffix("Batch") if service == "sqs" and asked else asked


iam_actions.extract_iam_action = queue_action

add_consumed_capacity = dynamodb._add_consumed_capacity


def by_size(result, data, table, **write):
    """The server counts one unit for a read of any size; DynamoDB counts one for each 4 KB of all items, begun."""
    add_consumed_capacity(result, data, table, **write)
    capacity = result.get("ConsumedCapacity")
    if capacity and not write.get("write"):
        items = result.get("Items") or [result.get("Item") or {}]
        size = sum(dynamodb._item_size_bytes(item) for item in items)
        capacity["CapacityUnits"] *= max(1, -(-size // 4096))


dynamodb._add_consumed_capacity = by_size

main()
