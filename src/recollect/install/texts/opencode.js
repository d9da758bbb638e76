// Tells Recollect when a session of OpenCode begins, goes on or rests, and puts what Recollect answers beside the prompt.
// It starts one short program for that, which leaves within 0.6 s; whatever goes wrong in it, OpenCode does not notice.
import { spawn } from "node:child_process"

const COMMAND = {{command}}
const PATIENCE = 1000 // milliseconds

// What OpenCode calls it -> what it is called in a record.
const EVENTS = {
  "session.created": "SessionStart",
  "session.idle": "Stop",
  "session.compacted": "PreCompact",
  "session.deleted": "SessionEnd",
}

// One record; the promise is of what the hook says to it, "" when that is nothing. It never fails.
function tell(record) {
  return new Promise((resolve) => {
    const clock = setTimeout(() => resolve(""), PATIENCE)
    const end = (said) => {
      clearTimeout(clock)
      resolve(said)
    }
    try {
      const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], detached: true })
      const chunks = []
      child.on("error", () => end(""))
      child.stdin.on("error", () => {})
      child.stdout.on("error", () => {})
      child.stdout.on("data", (chunk) => chunks.push(chunk))
      child.on("close", () => end(context(Buffer.concat(chunks).toString("utf8"))))
      child.stdin.end(JSON.stringify(record))
      child.unref()
    } catch {
      end("")
    }
  })
}

function context(printed) {
  try {
    const said = JSON.parse(printed).hookSpecificOutput.additionalContext
    return typeof said === "string" ? said : ""
  } catch {
    return ""
  }
}

export const Recollect = async (input) => {
  const running = new Set() // what OpenCode waits for when it ends
  const starts = new Map() // session -> what it is told with its first prompt
  const delegated = new Set() // sessions whose prompts a model writes

  function say(name, session, more) {
    if (typeof session !== "string" || !session) return Promise.resolve("")
    const told = tell({ session_id: session, hook_event_name: name, cwd: input?.directory, ...more })
    running.add(told)
    told.then(() => running.delete(told))
    return told
  }

  return {
    event: async (given) => {
      try {
        const { type, properties } = given.event
        const session = properties?.sessionID ?? properties?.info?.id
        if (!EVENTS[type]) return
        if (type === "session.created" && properties.info?.parentID) delegated.add(session)
        const said = say(EVENTS[type], session)
        if (type === "session.created" && !delegated.has(session)) starts.set(session, said)
        // What it was told is packed away now.
        if (type === "session.compacted" && !delegated.has(session))
          starts.set(session, say("SessionStart", session, { source: "compact" }))
        if (type === "session.deleted") [starts, delegated].forEach((known) => known.delete(session))
      } catch {}
    },

    "chat.message": async (about, message) => {
      try {
        const session = about.sessionID
        const last = message.parts[message.parts.length - 1]
        if (delegated.has(session) || !last) return
        const typed = message.parts.filter((part) => part.type === "text" && !part.synthetic)
        const start = await starts.get(session)
        starts.delete(session)
        const answer = await say("UserPromptSubmit", session, { prompt: typed.map((part) => part.text).join("\n") })
        const said = [start, answer].filter(Boolean)
        // Parts are sorted by their ids, and these belong behind what the person wrote.
        said.forEach((text, number) =>
          message.parts.push({
            id: `${last.id}r${number}`,
            sessionID: session,
            messageID: message.message.id,
            type: "text",
            text,
            synthetic: true,
          }),
        )
      } catch {}
    },

    dispose: async () => {
      await Promise.all(running)
    },
  }
}
