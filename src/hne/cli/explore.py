"""`hne explore`: a file -> a page on this machine where the embedding changes while knobs are turned."""

import argparse
import shlex
import threading
import webbrowser
from typing import TYPE_CHECKING, Any

from hne.cli import arguments, talk
from hne.cli.talk import echo, title_of
from hne.exceptions import refuse
from hne.settings import AUTO, DEFAULTS, SEARCHED

if TYPE_CHECKING:
    from hne.explorer.request import Request
    from hne.explorer.source import Source, View

DESCRIPTION = """\
Open a page on this machine on which the embedding of a file changes while knobs are turned: neighbors, ridge, variant,
columns and their scaling, edges across gaps. It says how far each picture can be believed, keeps a trail of what was
tried, and gives out the command, the Python lines and files. Only who has the printed address is let in; nothing is
sent anywhere. Ctrl-C ends it.
"""
EXAMPLES = """\
examples:
  hne explore cells.csv
  hne explore table.csv --id sample --color group --scale standard
  hne explore photos/ --image-size 32x32 --no-browser --port 8765
"""
LARGEST_PORT = 65535
# What the command that makes a picture again writes.
REPORT = "map.html"
# Columns that a command names to say what to color by.
MOST_NAMED = 20


def add_to(commands: Any) -> None:
    """Add the command to the parser."""
    told = "turn the knobs and watch: a page on this machine"
    parser = arguments.add_command(commands, "explore", run, told, DESCRIPTION, EXAMPLES)
    arguments.add_input(parser)
    add = parser.add_argument_group("page").add_argument
    read = arguments.kind(_port, f"a number from 0 to {LARGEST_PORT}")
    add("--port", type=read, default=0, metavar="PORT", help="of this machine [one that is free]")
    add("--no-browser", action="store_true", help="print the address and open nothing")
    arguments.add_method(parser)
    arguments.add_talk(parser)


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= LARGEST_PORT:
        raise ValueError
    return port


def run(options: argparse.Namespace) -> None:
    """Read the file, bind the port, print the address, and serve until Ctrl-C."""
    for library in ("starlette", "uvicorn"):
        talk.need_library("hne explore", library, library, "explore")
    given = arguments.parameters_of(options)
    automatic = [name for name in (*SEARCHED, "n_components") if given[name] == AUTO]
    if automatic:
        remedy = "Leave it out: the page tries settings when asked to"
        refuse(arguments.flag_of(automatic[0]), "must be a value to begin with", "auto", remedy)
    options.force = False
    with talk.command_context(options, {}):
        ready = talk.prepared_input(options)
    from hne.core.parameters import check_parameters
    from hne.core.samples.check import check_shape
    from hne.explorer.request import Request
    from hne.explorer.server import Explorer
    from hne.explorer.session import Session
    from hne.explorer.source import Source

    table = ready.table
    given = arguments.with_sample_pairs(given, table.rows, table.X.shape[0])
    settings, _, _ = check_parameters(given)
    check_shape(table.X.shape, settings)
    start = Request.start({**given, "verbose": 0}, options.scale)
    reading = talk.read_options(options)
    source = Source(table, title_of(options), start, missing=options.missing, path=options.input, options=reading)
    session = Session(source, lambda *wanted: command_of(options, source, *wanted))
    explorer = Explorer(session, options.port)
    if options.json:
        talk.print_json({"address": explorer.address, "port": explorer.port})
    else:
        echo(None, f"exploring {title_of(options)} at {explorer.address}", "Ctrl-C ends it")
    if not options.no_browser:
        # In a thread: a browser of the terminal does not come back before it is closed.
        threading.Thread(target=webbrowser.open, args=(explorer.address,), daemon=True).start()
    explorer.run()


def command_of(
    options: argparse.Namespace, source: "Source", request: "Request", view: "View", color: str | None
) -> str:
    """The command that makes a picture again, of all rows of the file, colored by a column of it."""
    from hne.explorer.exports import file_parameters, reading_of

    features = source.table.feature_names
    chosen: dict[str, Any] = file_parameters(request, view)
    chosen = {name: value for name, value in chosen.items() if name in arguments.PARAMETERS}
    chosen |= {"scale": request.scale, **reading_of(request, features, options.drop)}
    # A column to color by is no feature, unless all features are named.
    if color in (request.columns or features) and not options.columns:
        color = color if len(request.columns or features) <= MOST_NAMED else None
        chosen |= {} if color is None else {"columns": tuple(request.columns or features), "drop": options.drop}
    chosen |= {"color": color or options.color}
    # One that is left out anyway need not be dropped, and may not be.
    if chosen["color"] in chosen.get("drop", ()):
        chosen["drop"] = tuple(name for name in chosen["drop"] if name != chosen["color"])
    words = arguments.embed_words(options, {**DEFAULTS, **chosen}, source.table.rows)
    return shlex.join([*words, "--report", REPORT])
