"""One verb a file, each with `configure(parser)` and `run(args, console) -> exit code`."""
