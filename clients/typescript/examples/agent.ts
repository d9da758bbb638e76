/** An agent that remembers. Each line of input is a message; without OPENAI_BASE_URL an echo answers. */

import { createInterface } from "node:readline";
import { MemorySkill, type Message } from "recollect-client";

const memory = new MemorySkill({ userId: process.env["USER_ID"] ?? "ann" }); // and MEMORY_RETRIEVAL_URL, MEMORY_API_KEY
const sessionId = process.env["SESSION_ID"] ?? `agent:${Date.now()}`;
const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key = "", OPENAI_MODEL: model = "gpt-4o-mini" } = process.env;

/** Any endpoint that speaks as OpenAI's does: a hosted model, llama.cpp, Ollama, vLLM. */
async function ask(prompt: string): Promise<string> {
  const response = await fetch(`${base}/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages: [{ role: "user", content: prompt }] }),
  });
  if (!response.ok) throw new Error(`the model answered with ${response.status}`);
  const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
  return choices[0]?.message.content ?? "";
}

/** A model for machines without one: it says what stands in its prompt as recalled. */
async function echo(prompt: string): Promise<string> {
  const recalled = prompt.split("\n").filter((line) => line.startsWith("> "));
  return recalled.length > 0 ? `You told me: ${recalled.map((line) => line.slice(2)).join(" / ")}` : "I see.";
}

const history: Message[] = [];
for await (const message of createInterface({ input: process.stdin })) {
  const prompt = await memory.enrichContext(message, history, { sessionId, maxTokens: 1_000 });
  const answer = await (base ? ask(prompt) : echo(prompt));
  console.log(`> ${message}\n${answer}`);
  history.push({ role: "user", content: message }, { role: "assistant", content: answer });
  await memory.recordTurn(message, answer, { sessionId }).catch((error) => console.error(`not kept: ${error.message}`));
}
