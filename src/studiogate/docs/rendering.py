"""Markdown to HTML: headings with anchors, highlighted samples with a tab for each language, links within the site."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby, pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererProtocol
from markdown_it.token import Token
from markupsafe import Markup
from mdit_py_plugins.anchors import anchors_plugin
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers.data import JsonLexer
from pygments.lexers.javascript import TypeScriptLexer
from pygments.lexers.python import PythonLexer
from pygments.lexers.shell import BashLexer

Resolve = Callable[[str], str | None]
# Samples in these languages that follow one another are the same one.
LANGUAGES = {"sh": "curl", "python": "Python", "typescript": "TypeScript", "php": "PHP", "go": "Go"}
_JSON = JsonLexer()
_LEXERS = {"json": _JSON, "python": PythonLexer(), "sh": BashLexer(), "console": BashLexer()}
_LEXERS |= {"typescript": TypeScriptLexer()}
_FORMAT = HtmlFormatter(nowrap=True)
_SOURCE = re.compile(r'(src|srcset)="([^"]+)"')
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


class Section(NamedTuple):
    """The text below one heading, without markup; the first one has no level."""

    level: int
    anchor: str
    title: str
    text: str


class Rendered(NamedTuple):
    title: str
    description: str  # the first paragraph
    html: Markup
    sections: Sequence[Section]


def render(text: str, resolve: Resolve, words: Mapping[str, str]) -> Rendered:
    """Render a page. ``resolve`` returns the address for the target of a link, or None to show no link; ``words`` has
    the addresses of what code in a text may name, such as an error code."""
    tokens = _MARKDOWN.parse(text)
    for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.type == "th_open" and not token.content:
            before.tag = after.tag = "td"  # there is no header to announce
        for child in token.children or ():
            _redirect(child, resolve)
        if token.children and before.type != "heading_open":
            token.children = list(_linked(token.children, words))
        if token.type == "html_block":
            token.content = _SOURCE.sub(lambda found: f'{found[1]}="{resolve(found[2])}"', token.content)
    sections = _sections(tokens)
    # The title is the page's own heading: the template shows it.
    body = tokens[3:] if tokens and tokens[0].tag == "h1" else tokens
    html: str = _MARKDOWN.renderer.render(_with_tabs(body), _MARKDOWN.options, {})
    first = next((_text(after) for token, after in pairwise(body) if token.tag == "p"), "")
    return Rendered(sections[0].title, first, Markup(html), sections)  # noqa: S704 # nosec B704 # our own texts


def _linked(tokens: Sequence[Token], words: Mapping[str, str]) -> Iterator[Token]:
    """Yield the tokens of a text, with a link around each code that is one of the words and is not in a link."""
    depth = 0
    for token in tokens:
        depth += token.nesting if token.type in ("link_open", "link_close") else 0
        address = words.get(token.content) if token.type == "code_inline" and not depth else None
        if address is None:
            yield token
        else:
            yield from (Token("link_open", "a", 1, attrs={"href": address}), token, Token("link_close", "a", -1))


def portable(text: str, resolve: Resolve) -> str:
    """Return Markdown whose links lead to the Markdown of other pages."""

    def link(found: re.Match[str]) -> str:
        target = resolve(found[2])
        if target is None:
            return found[1]
        page, mark, anchor = target.partition("#")
        return f"[{found[1]}]({page + '.md' if page.startswith('/docs') else page}{mark}{anchor})"

    return _LINK.sub(link, text)


def _redirect(token: Token, resolve: Resolve) -> None:
    if token.type != "link_open":
        return
    target = resolve(str(token.attrGet("href")))
    if target is None:
        token.attrs.clear()  # without an address it is not a link
    else:
        token.attrSet("href", target)


def _text(token: Token) -> str:
    return "".join(" " if each.type == "softbreak" else each.content for each in token.children or ())


def _sections(tokens: Sequence[Token]) -> list[Section]:
    found: list[Section] = []
    texts: list[str] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type not in ("inline", "fence"):
            continue
        if before is not None and before.type == "heading_open":
            texts = []
            found.append(Section(int(before.tag[1]), str(before.attrGet("id")), _text(token), ""))
        else:
            texts.append(_text(token) if token.type == "inline" else token.content)
            found[-1] = found[-1]._replace(text=" ".join(texts))
    return found


def _with_tabs(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with one token for all samples that follow one another in different languages."""
    shown: list[Token] = []
    for is_sample, group in groupby(tokens, lambda token: token.type == "fence" and token.info in LANGUAGES):
        samples = list(group)
        if is_sample and len(samples) > 1:
            line = samples[0].map[0] if samples[0].map else 0
            shown.append(Token("html_block", "", 0, content=_tabs(f"sample-{line}", samples)))
        else:
            shown += samples
    return shown


def _tabs(name: str, samples: Sequence[Token]) -> str:
    """Return samples of which radio buttons choose one, also without scripts."""
    inputs = "".join(
        f'<label><input type="radio" name="{name}" value="{each.info}"{"" if number else " checked"}>'
        f"{LANGUAGES[each.info]}</label>"
        for number, each in enumerate(samples)
    )
    panels = "".join(_sample(each.content, each.info) for each in samples)
    return f'<div class="tabs"><fieldset><legend>Language</legend>{inputs}</fieldset>{panels}</div>\n'


def sample(code: str, language: str) -> Markup:
    """Return a highlighted sample."""
    return Markup(_sample(code, language))  # noqa: S704 # nosec B704 # our own texts


def prose(text: str) -> Markup:
    """Return the HTML of a text without headings."""
    return Markup(_MARKDOWN.render(text))  # noqa: S704 # nosec B704 # our own texts


def _sample(code: str, language: str) -> str:
    shown = f'<pre tabindex="0"><code>{_highlighted(code, language)}</code></pre>'
    return f'<div class="sample" data-language="{language}">{shown}</div>\n'


def _highlighted(code: str, language: str) -> str:
    if language == "http":  # the head of a message, and perhaps a JSON body
        head, blank, body = code.partition("\n\n")
        return escape(head) + blank + _highlighted(body, "json" if body.startswith("{") else "")
    lexer = _LEXERS.get(language)
    return highlight(code, lexer, _FORMAT) if lexer and code else escape(code)


def _fence(_renderer: RendererProtocol, tokens: Sequence[Token], index: int, *_: object) -> str:
    return _sample(tokens[index].content, tokens[index].info.strip())


def _heading_open(_renderer: RendererProtocol, tokens: Sequence[Token], index: int, *_: object) -> str:
    tag, anchor = tokens[index].tag, tokens[index].attrGet("id")
    return f'<{tag} id="{anchor}"><a href="#{anchor}">'


def _heading_close(_renderer: RendererProtocol, tokens: Sequence[Token], index: int, *_: object) -> str:
    return f"</a></{tokens[index].tag}>\n"


def _table_open(*_: object) -> str:
    return '<div class="table-scroll" tabindex="0"><table>\n'


def _table_close(*_: object) -> str:
    return "</table></div>\n"


def _markdown() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": True, "alerts": True}).enable("table").use(anchors_plugin, max_level=4)
    for rule in (_fence, _heading_open, _heading_close, _table_open, _table_close):
        made.add_render_rule(rule.__name__.removeprefix("_"), rule)
    return made


_MARKDOWN = _markdown()
