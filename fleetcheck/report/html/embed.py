"""The page made of its templates: every value escaped, script and data inside one file. Runs on the controller."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fleetcheck.text import visible

SCRIPTS = ("vendor/uPlot.iife.min.js", "script/base.js", "script/heatmap.js", "script/tables.js", "script/node.js", "script/pairs.js",
           "script/loads.js", "script/certificate.js", "script/start.js")
LICENCES = ("vendor/uPlot.LICENSE",)
STYLES = ("vendor/uPlot.min.css", "style/screen.css", "style/parts.css", "style/print.css")
ESCAPED = re.compile(r"\\(?:[bfr]|u(?:00[01789]|20(?:0[b-f]|2[89a-e]|6[6-9])|d[89a-f]|feff|fff[ef]))")
"""How JSON writes the characters that must be made visible, and a few more."""


def page(**values: Any) -> Iterator[str]:
    """The page piece by piece. told: what its script reads."""
    environment = Environment(loader=PackageLoader("fleetcheck.report.html", "templates"), autoescape=True, undefined=StrictUndefined,
                              trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"shown": shown, "counted": "{:,}".format}
    told = Markup(embedded(values.pop("told")))
    template = environment.get_template("report.html.j2")
    scripts = Markup("/*\n{}\n*/\n{}").format(_own(LICENCES), _own(SCRIPTS))
    digest = base64.b64encode(hashlib.sha256(scripts.encode()).digest()).decode()
    return template.generate(**values, told=told, scripts=scripts, script_hash=digest, styles=_own(STYLES))


def shown(text: object) -> str:
    """Text of a node with nothing hidden in it; the template escapes it."""
    return visible(str(text))


def embedded(told: Mapping[str, Any]) -> str:
    r"""Data as JSON that cannot end the script element it stands in, nor open a comment in it.

    >>> embedded({"said": "</script><!--\x1b"})
    '{"said":"\\u003c/script\\u003e\\u003c!--\\\\x1b"}'
    """
    text = _json(told)
    if ESCAPED.search(text):  # seldom; cleaning copies all of it
        text = _json(clean(told))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _json(told: Any) -> str:
    return json.dumps(told, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def clean(value: Any) -> Any:
    """The same data with control and bidirectional characters of every text made visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(str(key)): clean(each) for key, each in value.items()}
    return [clean(each) for each in value] if isinstance(value, (list, tuple)) else value


def _own(names: tuple[str, ...]) -> Markup:
    """Files of this package, as they are."""
    folder = resources.files("fleetcheck.report.html")
    return Markup("\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names))
