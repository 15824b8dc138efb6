// liza's hook for opencode, put here by `liza install opencode`; `liza install opencode --uninstall` removes it.
//
// Each event goes as JSON to liza's own script, ~/.local/share/liza/hook.sh, which answers with an exit code: 2 refuses
// what is about to begin, and anything else lets it go on. Nothing is decided here. The script may wait for a person.
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

const script = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "liza/hook.sh")
const REFUSED = 2

function ask(kind, cwd, payload) {
  if (!existsSync(script))
    return Promise.resolve({ code: REFUSED, out: "", err: "liza: its hook is missing; to fix: liza install opencode" })
  return new Promise((done) => {
    const hook = spawn("sh", [script, "opencode", kind], { cwd, stdio: ["pipe", "pipe", "pipe"] })
    let out = "", err = ""
    hook.stdout.on("data", (text) => (out += text))
    hook.stderr.on("data", (text) => (err += text))
    hook.stdin.on("error", () => {}) // it does not read what it needs not
    hook.on("error", (error) => done({ code: REFUSED, out: "", err: `liza: its hook cannot be started: ${error.message}` }))
    hook.on("close", (code) => done({ code, out, err }))
    hook.stdin.end(JSON.stringify(payload))
  })
}

export const Liza = async ({ directory }) => {
  const parents = {} // of sessions that are subagents
  const refused = new Set() // calls
  const counted = new Set() // messages whose usage was reported

  const about = (name, session, more) => {
    const parent = parents[session]
    const whose = parent ? { session_id: parent, agent_id: session } : { session_id: session }
    return { hook_event_name: name, ...whose, cwd: directory, ...more }
  }
  const begin = async (kind, name, session, more) => {
    const { code, err } = await ask(kind, directory, about(name, session, more))
    if (code === REFUSED) throw new Error(err.trim())
  }
  const call = (input, args) => ({ tool_name: input.tool, tool_input: args, tool_use_id: input.callID })

  return {
    "chat.message": (input) => begin("prompt", "chat.message", input.sessionID, {}),
    "chat.params": (input) => begin("before", "chat.params", input.sessionID, {}),
    "tool.execute.before": async (input, output) => {
      refused.add(input.callID)
      await begin("before", "tool.execute.before", input.sessionID, call(input, output.args))
      refused.delete(input.callID)
    },
    "tool.execute.after": async (input, output) => {
      const result = { output: output.output, exit: output.metadata?.exit, error: output.metadata?.error }
      const given = about("tool.execute.after", input.sessionID, { ...call(input, input.args), tool_response: result })
      const { out } = await ask("after", directory, given)
      const text = out && JSON.parse(out).hookSpecificOutput?.additionalContext
      if (text) output.output += `\n\n${text}` // the model reads it with the result
    },
    event: async ({ event }) => {
      const info = event.properties?.info, part = event.properties?.part
      if (event.type === "session.created") {
        if (info.parentID) parents[info.id] = info.parentID
        await ask("start", directory, about(event.type, info.id, {}))
      } else if (event.type === "session.idle") {
        await ask("note", directory, about(event.type, event.properties.sessionID, {}))
      } else if (event.type === "message.updated" && info.role === "assistant" && info.time?.completed) {
        if (counted.has(info.id)) return
        counted.add(info.id)
        const used = { tokens: info.tokens, cost: info.cost, model: info.modelID, error: info.error }
        await ask("note", directory, about(event.type, info.sessionID, used))
      } else if (part?.type === "tool" && part.state.status === "error" && !refused.delete(part.callID)) {
        const failed = { ...call(part, part.state.input), tool_response: { failed: part.state.error } }
        await ask("after", directory, about("tool.execute.after", part.sessionID, failed))
      }
    },
  }
}
