// Selvedge's stop gate: `selvedge install opencode` writes this file, `selvedge uninstall opencode` removes it.
// When a session becomes idle, Selvedge runs the project's checks; while they fail, the session goes on with a digest.
import { spawn } from "node:child_process"

const PROGRAM = "@PROGRAM@"

// Calls `selvedge hook opencode`. Whatever fails here lets the session be.
const callHook = (directory, input) =>
  new Promise((resolve) => {
    const child = spawn(PROGRAM, ["hook", "opencode"], { cwd: directory, stdio: ["pipe", "pipe", "ignore"] })
    let output = ""
    child.stdout.on("data", (chunk) => (output += chunk))
    child.on("error", (error) => resolve({ systemMessage: `Selvedge: NOT VERIFIED: ${error.message}` }))
    child.on("close", () => {
      try {
        resolve(JSON.parse(output))
      } catch {
        resolve({ systemMessage: "Selvedge: NOT VERIFIED: the stop gate failed" })
      }
    })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ cwd: directory, ...input }))
  })

export const Selvedge = async ({ client, directory }) => {
  // Sessions of subagents are part of another session.
  const isMain = async (id) => {
    const { data } = await client.session.get({ path: { id } })
    return Boolean(data) && !data.parentID
  }
  const textOf = (parts) =>
    parts
      .filter((part) => part.type === "text" && !part.synthetic)
      .map((part) => part.text)
      .join("\n")
  const lastMessage = async (id) => {
    const { data } = await client.session.messages({ path: { id } })
    const last = (data ?? []).filter((message) => message.info.role === "assistant").at(-1)
    return { text: last ? textOf(last.parts) : "", failed: Boolean(last?.info.error) }
  }
  const notify = async (message, variant) => {
    await client.tui.showToast({ body: { message, variant, duration: 15000 } }).catch(() => {})
    await client.app.log({ body: { service: "selvedge", level: "info", message } }).catch(() => {})
  }
  const refused = new Set()
  const onIdle = async (id) => {
    if (!(await isMain(id))) return
    const last = await lastMessage(id)
    // Aborted by the user, or stopped by an error of the model's API.
    if (last.failed) return
    const answer = await callHook(directory, {
      session_id: id,
      hook_event_name: "Stop",
      stop_hook_active: refused.delete(id),
      last_assistant_message: last.text,
    })
    const isRefusal = answer.decision === "block"
    if (answer.systemMessage) {
      const isGood = answer.systemMessage.startsWith("Selvedge: verified")
      await notify(answer.systemMessage, isGood ? "success" : "warning")
    }
    if (isRefusal) {
      refused.add(id)
      await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: answer.reason }] } })
    }
  }
  return {
    config: async (config) => {
      config.mcp = { selvedge: { type: "local", command: [PROGRAM, "mcp"], enabled: true }, ...config.mcp }
    },
    "chat.message": async (input, output) => {
      const id = input.sessionID
      if (!(await isMain(id))) return
      const prompt = textOf(output.parts)
      await callHook(directory, { session_id: id, hook_event_name: "UserPromptSubmit", prompt })
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await onIdle(event.properties.sessionID)
      if (event.type === "session.deleted") {
        await callHook(directory, { session_id: event.properties.info.id, hook_event_name: "SessionEnd" })
      }
    },
  }
}
