"""Sources and sessions that tests of the explorer share, and a page that calls them."""

import json
import struct
from threading import Event

import numpy as np
import pytest

from hne.datasets import make_swiss_roll
from hne.explorer.request import Request
from hne.explorer.session import Session
from hne.explorer.source import Source, table_of


def read_frames(content):
    """Frames of a stream: facts and arrays as bytes."""
    frames, at = [], 0
    while at < len(content):
        (length,) = struct.unpack_from("<I", content, at)
        facts = json.loads(content[at + 4 : at + 4 + length])
        at += 4 + length
        buffers = []
        for size in facts["buffers"]:
            buffers.append(content[at : at + size])
            at += size
        frames.append((facts, buffers))
    return frames


class Caller:
    """A page without a browser: calls a session, and takes answers apart as a page does."""

    def __init__(self, session):
        self.session, self.told = session, []

    def __call__(self, kind, **payload):
        message = self.session.call(kind, payload, lambda one: self.told.append(one.facts), Event())
        ((facts, buffers),) = read_frames(message.frame("done"))
        self.buffers = buffers
        return facts

    def embed(self, after=None, **changes):
        start = self("open")["start"]
        parameters = start["parameters"] | changes.pop("parameters", {})
        return self("embed", request=start | changes | {"parameters": parameters}, after=after)

    def array(self, one):
        return np.frombuffer(self.buffers[one["buffer"]], dtype=f"<{one['kind']}")

    def coordinates(self, facts):
        axes = [column for column in facts["columns"] if column["group"] == "coordinates"]
        return np.column_stack([self.array(column) for column in axes])


def rolled(n=300, **parameters):
    """A session about a roll, with a label and names."""
    roll = make_swiss_roll(n, random_state=0)
    half = np.where(roll.chart[:, 0] > np.median(roll.chart[:, 0]), "outer", "inner")
    table = table_of(roll.X, labels={"half": half}, ids=[f"s{i}" for i in range(n)])
    return Session(Source(table, "roll.csv", Request.start(parameters)))


@pytest.fixture(scope="module")
def call():
    return Caller(rolled())
