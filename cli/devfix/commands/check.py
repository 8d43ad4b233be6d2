"""`devfix check`."""

from devfix.commands import options
from devfix.formats import OutputFormat


def check(
    paths: options.Paths = None,
    select: options.Select = None,
    ignore: options.Ignore = None,
    unsafe: options.Unsafe = None,
    target_torch: options.TargetTorch = None,
    prefer: options.PreferDevice = None,
    exclude: options.Exclude = None,
    force_exclude: options.ForceExclude = False,
    jobs: options.Jobs = None,
    no_cache: options.NoCache = False,
    quiet: options.Quiet = False,
    output_format: options.Format = OutputFormat.TEXT,
    stdin_filename: options.StdinFilename = None,
    config: options.Config = None,
    isolated: options.Isolated = False,
) -> int:
    """Say what is wrong, and why. Changes nothing."""
    from devfix.checking import check as run

    overrides = options.overrides_of(
        select, ignore, exclude, unsafe, target_torch, prefer, jobs, force_exclude, config, isolated
    )
    return run(options.ask_of(paths, overrides, output_format, quiet, no_cache, stdin_filename))
