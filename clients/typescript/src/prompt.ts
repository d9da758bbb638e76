/** A whole prompt as text: the conversation so far, what was recalled for it, the new message. */

export const HEADER = "=== Relevant Context ===";
export const FOOTER = "========================";

/** One message as chat interfaces have it: a text, or parts of which those of type `text` count. */
export interface Message {
  role: string;
  content: string | null | undefined | readonly { type: string; text?: string }[];
}

/** The conversation so far: its messages, or a text that is taken as it is. */
export type History = string | readonly Message[];

const SPEAKERS: Record<string, string> = {
  system: "System",
  developer: "System",
  user: "User",
  assistant: "Assistant",
};

/** History, then the recalled text in its frame, then `User: …`; what is empty leaves nothing behind. */
export function buildPrompt(history: History, context: string, userMessage: string): string {
  const talk = typeof history === "string" ? trimmed(history) : history.map(line).filter(Boolean).join("\n");
  return [talk, framed(context), `User: ${userMessage}`].filter(Boolean).join("\n\n") + "\n";
}

/** Recalled text between its two lines; the server has put it there already. */
export function framed(context: string): string {
  const text = trimmed(context);
  return !text || text.startsWith(HEADER) ? text : `${HEADER}\n${text}\n${FOOTER}`;
}

/** A message as a line; of tools and unknown speakers, and without text, none. */
function line(message: Message): string {
  const speaker = Object.hasOwn(SPEAKERS, message.role) ? SPEAKERS[message.role] : undefined;
  const text = said(message.content);
  return speaker && text ? `${speaker}: ${text}` : "";
}

function said(content: Message["content"]): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .filter((part) => part?.type === "text" && part.text)
    .map((part) => part.text)
    .join("\n");
}

/** Without the empty lines around it. */
function trimmed(text: string): string {
  let [start, end] = [0, text.length];
  while (text[start] === "\n") start++;
  while (end > start && text[end - 1] === "\n") end--;
  return text.slice(start, end);
}
