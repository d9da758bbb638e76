// Tells Recollect when a session of OpenCode begins, goes on or rests. It starts one short program for that and waits for
// nothing; whatever goes wrong in it, OpenCode does not notice.
import { spawn } from "node:child_process"

const COMMAND = {{command}}

// What OpenCode calls it -> what it is called in a record.
const EVENTS = {
  "session.created": "SessionStart",
  "session.idle": "Stop",
  "session.compacted": "PreCompact",
  "session.deleted": "SessionEnd",
}

function tell(name, session, directory) {
  try {
    if (typeof session !== "string" || !session) return
    const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "ignore", "ignore"], detached: true })
    child.on("error", () => {})
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ session_id: session, hook_event_name: name, cwd: directory }))
    child.unref()
  } catch {}
}

export const Recollect = async (context) => ({
  event: async (given) => {
    try {
      const event = given.event
      const name = EVENTS[event.type]
      const about = event.properties ?? {}
      if (name) tell(name, about.sessionID ?? about.info?.id, context?.directory)
    } catch {}
  },
})
