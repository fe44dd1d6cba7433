"""A client of the bus in Python, with the standard library alone.

export PARLEY_TOKEN_FILE=/run/secrets/ci
python bus_client.py http://127.0.0.1:8420 "agent.*"      # prints events, also across restarts
python bus_client.py http://127.0.0.1:8420 send build.done 7 '{"ok": true}'
python bus_client.py http://127.0.0.1:8420 task desk Runner Fetch
"""

import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from pathlib import Path

PAUSE_S = 0.5
WAIT_S = 20


class Bus:
    def __init__(self, url: str, token: str) -> None:
        self.url = f"{url}/bus/v1"
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, path: str, data: object = None) -> dict:
        """Ask until the gateway answers. Asking again does no harm: events have ids, and tasks keys."""
        body = None if data is None else json.dumps(data).encode()
        while True:
            request = urllib.request.Request(self.url + path, body, self.headers)
            try:
                with urllib.request.urlopen(request, timeout=2 * WAIT_S) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code < 500 and error.code != 429:
                    raise SystemExit(f"{error.code}: {error.read().decode()}") from None
            except (OSError, ValueError):
                pass  # it is away, or was cut off in the middle of an answer
            time.sleep(PAUSE_S)

    def events(self, pattern: str, after: str):
        """Events as they come, each once. Keep the cursor with what you do with the events."""
        seen = {}
        while True:
            query = urllib.parse.urlencode({"type": pattern, "after": after, "wait_s": WAIT_S})
            found = self.ask(f"/events?{query}")
            for event in found["events"]:
                key = (event["source"], event["id"])
                if key not in seen:
                    yield event
                seen[key] = True
            while len(seen) > 10_000:
                del seen[next(iter(seen))]
            after = found["cursor"]

    def send(self, type_: str, id_: str, data: object) -> dict:
        return self.ask("/events", {"type": type_, "id": id_, "data": data})

    def task(self, program: str, agent: str, playbook: str, **arguments: object) -> dict:
        """Have a playbook executed, and wait for what comes of it."""
        order = {"program": program, "agent": agent, "playbook": playbook, "arguments": arguments}
        task = self.ask("/tasks", {**order, "key": uuid.uuid4().hex})["task"]
        while (found := self.ask(f"/tasks/{task}/result?wait_s={WAIT_S}"))["status"] in ("submitted", "working"):
            pass
        return found


if __name__ == "__main__":
    bus = Bus(sys.argv[1], Path(os.environ["PARLEY_TOKEN_FILE"]).read_text().strip())
    if sys.argv[2] == "send":
        print(json.dumps(bus.send(sys.argv[3], sys.argv[4], json.loads(sys.argv[5]))), flush=True)
    elif sys.argv[2] == "task":
        print(json.dumps(bus.task(*sys.argv[3:6])), flush=True)
    else:
        for event in bus.events(sys.argv[2], "oldest"):
            print(json.dumps(event), flush=True)
