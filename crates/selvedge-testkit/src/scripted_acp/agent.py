#!/usr/bin/env python3
"""An agent that speaks the Agent Client Protocol and follows a script, for tests.

usage: acp_agent.py SCRIPT LOG

The script is JSON: a list of sessions, each a list of steps. What it is told and answered goes into
the log, one JSON value a line. Written by hand and without any library: what the real library says
is held against it.

Environment: ACP_OFFERS is what a session offers: `options` (the default; a model and an effort),
`models` (a list of models, and modes) or `nothing`. With ACP_LOGIN, sessions need a login by that
method.
"""

import json
import os
import sys
import time

script_path, log_path = sys.argv[1:3]
waiting = []
last_id = 0
login = os.environ.get("ACP_LOGIN")
logged_in = not login


def log(kind, value):
    with open(log_path, "a", encoding="utf-8") as file:
        file.write(json.dumps({kind: value}) + "\n")


def played():
    try:
        with open(log_path, encoding="utf-8") as file:
            return sum(1 for line in file if "prompt" in json.loads(line))
    except FileNotFoundError:
        return 0


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def update(sessionUpdate, **fields):
    told = {"sessionUpdate": sessionUpdate, **fields}
    params = {"sessionId": "scripted", "update": told}
    send({"method": "session/update", "params": params})


def ask(method, params):
    """Asks the client, and waits for its answer."""
    global last_id
    last_id += 1
    params = {"sessionId": "scripted", **params}
    send({"id": last_id, "method": method, "params": params})
    while True:
        message = receive()
        if "method" not in message and message.get("id") == last_id:
            answer = message.get("result", {"error": message.get("error")})
            log(method, answer)
            return answer
        waiting.append(message)


def next_message():
    return waiting.pop(0) if waiting else receive()


def text(words):
    return {"type": "text", "text": words}


def play(step, prompt_id):
    """Whether the turn is over."""
    (kind, value), = step.items()
    if kind == "say":
        update("agent_message_chunk", content=text(value))
    elif kind == "update":
        update(**value)
    elif kind == "tool":
        update("tool_call", **value)
    elif kind == "permission":
        options = [
            {"optionId": f"id-{name}", "name": name, "kind": name}
            for name in ("allow_always", "allow_once", "reject_once")
        ]
        ask("session/request_permission", {"toolCall": value, "options": options})
    elif kind == "read":
        ask("fs/read_text_file", value)
    elif kind == "write":
        ask("fs/write_text_file", value)
    elif kind == "terminal":
        ask("terminal/create", value)
    elif kind == "print":
        sys.stdout.write(value + "\n")
        sys.stdout.flush()
    elif kind == "await_cancel":
        while next_message().get("method") != "session/cancel":
            pass
        log("cancelled", True)
    elif kind == "hang":
        while True:
            time.sleep(60)
    elif kind == "exit":
        sys.exit(value)
    elif kind == "stop":
        send({"id": prompt_id, "result": value})
        return True
    elif kind == "fail":
        send({"id": prompt_id, "error": value})
        return True
    return False


def offered():
    """What a new session offers."""
    kind = os.environ.get("ACP_OFFERS", "options")
    if kind == "models":
        models = [{"modelId": name, "name": name.title()} for name in ("small", "large")]
        modes = ["read-only", "workspace-write", "agent-full-access"]
        modes = [{"id": name, "name": name} for name in modes]
        return {
            "models": {"availableModels": models, "currentModelId": "small"},
            "modes": {"availableModes": modes, "currentModeId": "read-only"},
        }
    if kind == "nothing":
        return {}
    options = {"currentValue": "small", "options": [
        {"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]}
    model = {"id": "model", "name": "Model", "category": "model", "type": "select", **options}
    return {"configOptions": [model]}


def main():
    global logged_in
    while True:
        message = next_message()
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            log("initialize", message["params"])
            log("environment", dict(os.environ))
            methods = [{"id": name, "name": name} for name in ("browser", login) if login]
            answer = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": methods}
            send({"id": number, "result": answer})
        elif method == "authenticate":
            log("authenticate", message["params"])
            logged_in = True
            send({"id": number, "result": {}})
        elif method == "session/new" and not logged_in:
            send({"id": number, "error": {"code": -32000, "message": "Authentication required"}})
        elif method == "session/new":
            log("new", message["params"])
            send({"id": number, "result": {"sessionId": "scripted", **offered()}})
        elif method in ("session/set_model", "session/set_mode"):
            log(method.replace("session/", ""), message["params"])
            send({"id": number, "result": {}})
        elif method == "session/set_config_option":
            log("set", message["params"])
            send({"id": number, "result": {"configOptions": []}})
        elif method == "session/prompt":
            with open(script_path, encoding="utf-8") as file:
                sessions = json.load(file)
            steps = sessions[min(played(), len(sessions) - 1)]
            log("prompt", message["params"]["prompt"][0]["text"])
            for step in steps:
                if play(step, number):
                    break
        elif number is not None:
            send({"id": number, "error": {"code": -32601, "message": "no such method"}})


main()
