"""Plays a scenario with the Python client: play.py SCENARIO VARIABLES, both JSON files."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
import fieldmark  # noqa: E402

OPTIONS = {"dryRun": "dry_run", "version": "version", "idempotencyKey": "idempotency_key"}


def fill(value, variables):
    if isinstance(value, str) and value.startswith("$"):
        return variables[value[1:]]
    if isinstance(value, list):
        return [fill(v, variables) for v in value]
    if isinstance(value, dict):
        return {k: fill(v, variables) for k, v in value.items()}
    return value


def matches(want, got):
    if isinstance(want, dict) and "some" in want:
        return any(matches(want["some"], g) for g in got)
    if isinstance(want, dict) and "length" in want:
        return len(got) == want["length"]
    if isinstance(want, dict):
        return isinstance(got, dict) and all(k in got and matches(v, got[k]) for k, v in want.items())
    if isinstance(want, list):
        return len(want) == len(got) and all(matches(w, g) for w, g in zip(want, got))
    return want == got


def call(client, name, args):
    options = {OPTIONS[k]: v for k, v in (args.pop() if args and is_write(args[-1]) else {}).items()}
    if name == "find":
        return list(client.find(**args[0]))
    if name == "move":
        move = dict(args[1])
        return client.move(args[0], move.pop("status"), **move, **options)
    if name in ("deliveries", "poll"):
        return list(getattr(client, name)(*args))
    if name == "verify":
        return fieldmark.verify_webhook(args[0].encode(), args[1], args[2])
    return getattr(client, name)(*args, **options)


def is_write(arg):
    return isinstance(arg, dict) and bool(arg) and set(arg) <= set(OPTIONS)


def main():
    with open(sys.argv[1], encoding="utf-8") as scenario, open(sys.argv[2], encoding="utf-8") as given:
        steps, variables = json.load(scenario), json.load(given)
    failed = 0
    for step in steps:
        client = fieldmark.Client(variables["url"] + fill(step.get("base", ""), variables), variables["key"],
                                  timeout=step.get("timeout", 15))
        for n in range(fill(step.get("repeat", 1), variables)):
            variables["n"] = f"{variables['player']}-{n}"
            try:
                got, code = call(client, step["call"], fill(step.get("args", []), variables)), None
            except fieldmark.Error as error:
                got, code = error.detail, error.code
            if code != step.get("error") or "want" in step and not matches(fill(step["want"], variables), got):
                failed = 1
                print(f"{step['name']}: {code} {json.dumps(got)[:2000]}")
        for name, path in step.get("save", {}).items():
            variables[name] = got
            for part in path.split("/"):
                variables[name] = variables[name][int(part) if part.isdigit() else part]
    sys.exit(failed)


main()
