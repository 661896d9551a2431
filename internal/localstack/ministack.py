# Runs the local AWS in this process. With a folder as its argument it ends as soon as standard input is closed, with
# everything in its process group, and removes the folder: so a server made by a test never outlives the test.
import json
import os
import re
import shutil
import signal
import sys
import threading

folder = sys.argv.pop() if len(sys.argv) > 1 else None
if folder:

    def leave():
        while sys.stdin.buffer.read(4096):
            pass
        shutil.rmtree(folder, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=leave, daemon=True).start()

from ministack.app import main
from ministack.core import iam_actions, iam_evaluator
from ministack.services import dynamodb, lambda_svc

resource_arn = iam_actions.extract_resource_arn


def events_arn(service, method, path, headers, body, *rest):
    """What AWS asks for rights to in EventBridge (Service Authorization Reference): for what is done to a bus, the bus, and
    for what is done to a rule, the rule; three actions know of no resources. The server takes most for rules, or buses."""
    arn = resource_arn(service, method, path, headers, body, *rest)
    action = headers.get("x-amz-target", "").rpartition(".")[2]
    if service != "events":
        return arn
    if action in ("ListRules", "PutPermission", "RemovePermission"):
        return "*"
    if action.endswith("EventBus"):
        return arn.replace(":rule/default/", ":event-bus/")
    rule = json.loads(body or b"{}").get("Rule")
    return arn.replace(":event-bus/", ":rule/") + "/" + rule if rule else arn


iam_actions.extract_resource_arn = events_arn


class TableArn(str):
    """A table's ARN in a request, with the partition keys of text that the request names there."""

    leading = ()


def table_arn(arn, part):
    """The ARN with the partition keys of a part of a request: a call, a transaction's item, or a batch's keys."""
    marked = TableArn(arn)
    table = dynamodb._tables.get(arn.rpartition(":table/")[2])
    if not table or not isinstance(part, dict):
        return marked  # of an index, or a batch of writes
    names, values = part.get("ExpressionAttributeNames") or {}, part.get("ExpressionAttributeValues") or {}
    hashed = table["pk_name"]
    found = [key.get(hashed) for key in [part.get("Key") or part.get("Item") or {}] + (part.get("Keys") or [])]
    for name, value in re.findall(r"([#\w]+)\s*=\s*(:\w+)", part.get("KeyConditionExpression") or ""):
        if names.get(name, name) == hashed:
            found.append(values.get(value))
    marked.leading = tuple(dict.fromkeys(key["S"] for key in found if key and "S" in key))
    return marked


table_arns = iam_actions.dynamodb_resource_arns
transaction_checks = iam_actions.dynamodb_transaction_checks


def keyed_arns(body, region, account):
    arns = table_arns(body, region, account)
    if not arns:
        return arns
    request = json.loads(body)
    parts = [request] if request.get("TableName") else list(request["RequestItems"].values())
    return [table_arn(arn, part) for arn, part in zip(arns, parts)]


def keyed_checks(action, body, region, account):
    checks = transaction_checks(action, body, region, account)
    if not checks:
        return checks
    parts = [part for item in json.loads(body)["TransactItems"] for part in item.values()]
    return [(action, table_arn(arn, part)) for (action, arn), part in zip(checks, parts)]


iam_actions.dynamodb_resource_arns = keyed_arns
iam_actions.dynamodb_transaction_checks = keyed_checks

evaluate, enforce, asked, noted = iam_evaluator.evaluate, iam_evaluator.enforce, [], set()


def by_keys(request, *policies):
    """Decides with the condition key dynamodb:LeadingKeys, which the server does not know."""
    leading = getattr(request.resource_arn, "leading", ())
    if leading:
        request.service_context["dynamodb:leadingkeys"] = list(leading)
    asked.append(request)
    return evaluate(request, *policies)


def note(*request, **details):
    """In a test run, notes who asked for what and was allowed it or not, each thing once: in calls.jsonl, with the
    kinds of the keys."""
    asked.clear()
    denied = enforce(*request, **details)
    if folder and asked:
        call = json.dumps({
            "role": asked[0].principal_arn.split("/")[1], "action": asked[0].action, "resource": asked[0].resource_arn,
            "keys": sorted({re.sub("#.*", "#*", key) for key in getattr(asked[0].resource_arn, "leading", ())}),
            "allowed": denied is None,
        })
        if call not in noted:
            noted.add(call)
            with open(os.path.join(folder, "calls.jsonl"), "a") as notes:
                notes.write(call + "\n")
    return denied


iam_evaluator.evaluate, iam_evaluator.enforce = by_keys, note

functions_log = os.environ.pop("FUNCTIONS_LOG")
emit_lambda_logs = lambda_svc._emit_lambda_logs


def write(function, request, text, *rest, **details):
    """Keeps what functions say in a file, too, for a person to read."""
    if text:
        with open(functions_log, "a") as log:
            log.write(text.rstrip("\n") + "\n")
    return emit_lambda_logs(function, request, text, *rest, **details)


lambda_svc._emit_lambda_logs = write

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
