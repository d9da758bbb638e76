"""The memory over HTTP: the gate, the routes, and what they promise."""  # noqa: A005
