/** Names that nobody else has, and signatures: what the platform's cryptography is needed for. */

/** 128 bits of chance in hexadecimal. */
export function randomId(): string {
  const bytes = new Uint8Array(16);
  const crypto = globalThis.crypto as Crypto | undefined;
  if (crypto) crypto.getRandomValues(bytes);
  // Node 18 has no global `crypto`; these are names, not secrets.
  else bytes.forEach((_, place) => (bytes[place] = Math.floor(Math.random() * 256)));
  return hex(bytes);
}

/** HMAC-SHA-256 of a text in UTF-8, in hexadecimal. */
export async function hmac(secret: string, text: string): Promise<string> {
  const { subtle } = await webCrypto();
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await subtle.importKey("raw", encoder.encode(secret), algorithm, false, ["sign"]);
  return hex(new Uint8Array(await subtle.sign("HMAC", key, encoder.encode(text))));
}

async function webCrypto(): Promise<Crypto> {
  const own = globalThis.crypto as Crypto | undefined;
  if (own?.subtle) return own;
  const name = "node:crypto"; // where Node 18 has it; a variable, so that bundlers for browsers do not look for it
  return ((await import(name)) as { webcrypto: Crypto }).webcrypto;
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
