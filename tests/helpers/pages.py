"""Pages as a reader and a browser take them."""

import base64
import json
from html.parser import HTMLParser

import numpy as np

VOID = {"br", "img", "input", "link", "meta"}


class Page(HTMLParser):
    """Elements with their attributes, the text of each, the contents of scripts, and whether all that opens closes."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.blocks, self.is_balanced, self._open = [], [], {}, True, []
        self.feed(page)
        self.is_balanced &= not self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append((tag, dict(attrs).get("id", tag)))

    def handle_endtag(self, tag):
        self.is_balanced &= bool(self._open) and self._open.pop()[0] == tag

    def handle_data(self, data):
        tag, name = self._open[-1] if self._open else ("", "")
        if tag in {"script", "style"}:
            self.blocks[name] = self.blocks.get(name, "") + data
        else:
            self.texts.append((tag, data))

    def all(self, tag, kind=None):
        """Attributes of these elements."""
        attributes = [attrs for name, attrs in self.elements if name == tag]
        return [attrs for attrs in attributes if kind is None or kind in attrs.get("class", "").split()]

    def words(self, tag):
        """What these elements say."""
        return [text for name, text in self.texts if name == tag]

    @property
    def text(self):
        """All that a reader sees."""
        return " ".join(" ".join(text for _, text in self.texts).split())

    def meta(self):
        """What the script of a report is told."""
        return json.loads(self.blocks["meta"])

    def array(self, name, kind):
        """Numbers of a block."""
        return np.frombuffer(base64.b64decode(self.blocks[name]), dtype=f"<{kind}")
