import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/built.ts"],
    testTimeout: 90_000, // the real server on a busy machine
    hookTimeout: 90_000,
    unstubEnvs: true,
    env: { MEMORY_INGESTION_URL: "", MEMORY_RETRIEVAL_URL: "", MEMORY_API_KEY: "" },
  },
});
