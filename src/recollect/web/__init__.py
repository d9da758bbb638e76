"""The web page: what is known, why, and what it costs, for people with a browser. Server-rendered; no build step."""
