"""A client for a hub in Python, with a package that is generated from its OpenAPI document:

    uvx openapi-python-client generate --url http://127.0.0.1:7700/openapi.json
    pip install ./selvedge-hub-client

Submits a task, follows its events until it ends, and prints its outcome, its reports and its place in the list.
"""

import json
import os
import uuid

from httpx import Timeout
from selvedge_hub_client import AuthenticatedClient
from selvedge_hub_client.api.hub import (
    create_task,
    get_task,
    get_task_events,
    get_task_reports,
    get_task_result,
    get_tasks,
)
from selvedge_hub_client.models import Problem, Task

# Events may be far apart.
client = AuthenticatedClient(
    base_url=os.environ["SELVEDGE_HUB"], token=os.environ["SELVEDGE_TOKEN"], timeout=Timeout(60, read=None)
)
task = Task.from_dict(json.loads(os.environ["TASK"]))
# With a key, the request may be repeated: it creates one task.
submitted = create_task.sync(client=client, body=task, idempotency_key=str(uuid.uuid4()))
if submitted is None or isinstance(submitted, Problem):
    raise SystemExit(f"rejected: {submitted}")
task_id = str(submitted.task_id)

# The stream ends with the task.
events = get_task_events.sync(id=task_id, client=client)
journal = [json.loads(line[6:]) for line in events.splitlines() if line.startswith('data: {"v":')]

row = get_task.sync(id=task_id, client=client)
print(f"{row.state}: {row.outcome}, {row.attempts} attempts")
result = get_task_result.sync(id=task_id, client=client)
reports = get_task_reports.sync(id=task_id, client=client).reports
print(f"{result.verification_status}, reports: {[str(report.status) for report in reports]}")
listed = get_tasks.sync(client=client, limit=10).tasks
print(f"listed: {task_id in [str(it.task_id) for it in listed]}, last event: {journal[-1]['type']}")
