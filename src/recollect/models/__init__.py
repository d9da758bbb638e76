"""Text in, unit vectors out: the embedders and the weights they run on.

`port` says what an embedder is; `minilm` runs the built-in model on this machine, `remote` asks an
OpenAI-compatible endpoint, `tiny` hashes (for tests). Importing this package loads none of them.
"""
