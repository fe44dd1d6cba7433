"""A client of the tape service in Python, with the standard library alone.

export PARLEY_TOKEN_FILE=/run/secrets/ci
python tape_client.py http://127.0.0.1:8420 append plan '{"role": "user", "content": "hello"}'
python tape_client.py http://127.0.0.1:8420 read plan          # from the last anchor on, with its summary
python tape_client.py http://127.0.0.1:8420 follow plan        # all entries, and those that come, across restarts
"""

import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

PAUSE_S = 0.5
WAIT_S = 40  # a stream says at least every 15 s that it is there


class Tapes:
    def __init__(self, url: str, token: str) -> None:
        self.url = f"{url}/tape/v1"
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def open(self, path: str, data: object = None, **headers: str):
        """Ask until the gateway answers. Asking again does no harm: appends have keys."""
        body = None if data is None else json.dumps(data).encode()
        while True:
            request = urllib.request.Request(self.url + path, body, {**self.headers, **headers})
            try:
                return urllib.request.urlopen(request, timeout=WAIT_S)
            except urllib.error.HTTPError as error:
                if error.code < 500 or error.code == 507:
                    raise SystemExit(f"{error.code}: {error.read().decode()}") from None
                time.sleep(PAUSE_S)
            except OSError:
                time.sleep(PAUSE_S)  # it is away

    def ask(self, path: str, data: object = None) -> dict:
        while True:
            try:
                with self.open(path, data) as answer:
                    return json.load(answer)
            except (OSError, ValueError):
                time.sleep(PAUSE_S)  # it was cut off in the middle of an answer

    def append(self, tape: str, *payloads: object, expect: object = "any") -> dict:
        entries = [{"kind": "message", "payload": payload} for payload in payloads]
        return self.ask(f"/tapes/{tape}/entries", {"entries": entries, "expect": expect, "key": uuid.uuid4().hex})

    def follow(self, tape: str):
        """Entries as they come, and {"rollback": head} where the head moved back. Keep `last` to go on from there."""
        last = "0.0"
        while True:
            try:
                with self.open(f"/tapes/{tape}/follow", **{"Last-Event-ID": last}) as stream:
                    event: dict = {}
                    for line in stream:
                        name, _, value = line.decode().rstrip("\n").partition(": ")
                        if name:
                            event[name] = value
                            continue
                        if "data" in event:
                            data = json.loads(event["data"])
                            yield {"rollback": data["head"]} if event.get("event") == "rollback" else data
                        last, event = event.get("id", last), {}
            except (OSError, ValueError):
                time.sleep(PAUSE_S)


if __name__ == "__main__":
    tapes = Tapes(sys.argv[1], Path(os.environ["PARLEY_TOKEN_FILE"]).read_text().strip())
    if sys.argv[2] == "append":
        print(json.dumps(tapes.append(sys.argv[3], *map(json.loads, sys.argv[4:]))), flush=True)
    else:
        found = tapes.follow(sys.argv[3]) if sys.argv[2] == "follow" else None
        for entry in found or tapes.ask(f"/tapes/{sys.argv[3]}/entries?since=*")["entries"]:
            print(json.dumps(entry), flush=True)
