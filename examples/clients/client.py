"""A client for a hub in Python, with a package that is generated from its OpenAPI document:

    uvx openapi-python-client generate --url http://127.0.0.1:7700/openapi.json
    pip install ./selvedge-hub-client

Submits a task, waits until it ends, and prints its outcome.
"""

import json
import os
import time

from selvedge_hub_client import AuthenticatedClient
from selvedge_hub_client.api.hub import create_task, get_task
from selvedge_hub_client.models import Problem, Task

client = AuthenticatedClient(base_url=os.environ["SELVEDGE_HUB"], token=os.environ["SELVEDGE_TOKEN"])
submitted = create_task.sync(client=client, body=Task.from_dict(json.loads(os.environ["TASK"])))
if submitted is None or isinstance(submitted, Problem):
    raise SystemExit(f"rejected: {submitted}")
while True:
    row = get_task.sync(id=str(submitted.task_id), client=client)
    if row.state in ("succeeded", "failed", "cancelled", "dead", "needs_review"):
        print(f"{row.state}: {row.outcome}, {row.attempts} attempts")
        break
    time.sleep(0.2)
