"""Put the sources of the page and what it shows into one HTML text, which loads nothing."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

_STYLE = re.compile(r'<link rel="stylesheet" href="([\w/.]+\.css)">\n?')
_SCRIPT = re.compile(r'<script src="([\w/.]+\.js)"></script>\n?')


@cache
def _template() -> str:
    """Return the page with its styles and scripts, and with the policy that allows these and nothing else."""
    folder = files("skglex") / "_explorer" / "page"

    def read(name: str) -> str:
        return (folder / name).read_text(encoding="utf-8")

    html = read("page.html")
    style = "\n".join(map(read, _STYLE.findall(html)))
    script = '"use strict";\n' + "\n".join(map(read, _SCRIPT.findall(html)))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    html = _SCRIPT.sub("", _STYLE.sub("", html))
    return (
        html.replace(
            "<!-- content-security-policy -->",
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        )
        .replace("</head>", f"<style>{style}</style>\n</head>")
        .replace("</body>", f"<script>{script}</script>\n</body>")
    )


def _hash(text: str) -> str:
    """Return the hash of a script or a style, as a content security policy states it."""
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode("ascii")


def render(payload: dict[str, Any], title: str) -> str:
    """Return the page that shows a payload."""
    # A text such as "</script>" inside of the JSON must not end it.
    data = json.dumps(payload, allow_nan=False, ensure_ascii=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    before, after = _template().replace("{{title}}", escape(title)).split("<!-- payload -->")
    return f'{before}<script type="application/json" id="payload">{data}</script>{after}'
