"""The programs that may read unasked, each with the options that make it do nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

Recursive = Literal["", "option", "always"]


@dataclass(frozen=True, kw_only=True)
class Reader:
    """``valued``: letters whose value may be the next word; ``names_only``: it shows no contents."""

    options: re.Pattern[str]
    valued: str = ""
    names_only: bool = False
    recursive: Recursive = ""
    pattern: bool = False
    """Whether its first operand is a pattern, unless ``-e`` gives one."""
    folders_first: bool = False
    """Whether its folders stand before everything else."""

    def tops(self, texts: Sequence[str]) -> Iterator[str]:
        """The folders that a recursive reader starts from, as far as it is given any."""
        if self.folders_first:
            yield from takewhile(lambda text: not text.startswith(("-", "(", "!")), texts)
            return
        rest = list(texts)
        wants_pattern = self.pattern and "--files" not in texts
        operands = []
        while rest:
            text = rest.pop(0)
            if not text.startswith("-") or text == "-":
                operands.append(text)
                continue
            if self.pattern and re.fullmatch(rf"-[^-{self.valued}]*e.*", text):
                wants_pattern = False
            if self.valued and re.fullmatch(rf"-[^-{self.valued}]*[{self.valued}]", text):
                del rest[:1]
        yield from operands[1:] if wants_pattern else operands


def _row(
    options: str = "(?!)", *, valued: str = "", names_only: bool = False,
    recursive: Recursive = "", pattern: bool = False, folders_first: bool = False,
) -> Reader:  # fmt: skip
    return Reader(
        options=re.compile(options, re.DOTALL), valued=valued, names_only=names_only,
        recursive=recursive, pattern=pattern, folders_first=folders_first,
    )  # fmt: skip


_FIRST_LINES = (
    r"-[0-9]+|-[nc][+-]?[0-9]+|-[ncqvz]+|--(?:lines|bytes)=[+-]?[0-9]+|--(?:quiet|verbose)"
)
_GREP = (
    r"-[EFGPHILUZabchilnoqrsvwxyz]*(?:[ABCm][0-9]*|e.*)?|-[0-9]+"
    r"|--(?:include|exclude|exclude-dir|max-count|context|after-context|before-context|color)=.*"
    r"|--(?:recursive|ignore-case|line-number|count|files-with-matches|word-regexp|only-matching"
    r"|invert-match|no-filename|with-filename|fixed-strings|extended-regexp|perl-regexp|quiet|text)"
)
_FIND = (
    r"-(?:i?name|i?path|i?wholename|i?regex|regextype|type|size|[amc]time|[amc]min|newer|maxdepth|mindepth"
    r"|depth|print|print0|printf|ls|not|and|or|a|o|empty|prune|user|group|perm|xdev|mount|true|false"
    r"|readable|writable|executable|links|inum|quit|[0-9]+\w?)"
)
READERS: dict[str, Reader] = {
    "ls": _row(r"-[1ABCFGNQSUXZabcdfghiklmnopqrstuvwx]+|--(?:all|almost-all|human-readable|reverse|size|inode"
               r"|classify|directory|full-time|group-directories-first|no-group)|--(?:color|sort|time|format"
               r"|time-style|indicator-style|block-size)=[\w+-]+|--color", names_only=True),
    "cat": _row(r"-[AbeEnstTuv]+|--number|--show-all"),
    "head": _row(_FIRST_LINES),
    "tail": _row(_FIRST_LINES),
    "wc": _row(r"-[cmlLw]+|--(?:lines|words|bytes|chars|max-line-length)"),
    "pwd": _row(r"-[LP]", names_only=True),
    "cd": _row(names_only=True),
    "echo": _row(r".*", names_only=True),
    "printf": _row(r".*", names_only=True),
    "which": _row(r"-a", names_only=True),
    "type": _row(r"-[aftpP]+", names_only=True),
    "date": _row(r"-u|-R|-I\w*|-d.*|--(?:utc|rfc-email|iso-8601(?:=\w+)?|date=.*|rfc-3339=\w+)"),
    "file": _row(r"-[bi]+|--(?:brief|mime|mime-type|mime-encoding)"),
    "stat": _row(r"-[ft]+|-c.*|--(?:format|printf)=.*", names_only=True),
    "du": _row(r"-[0abchkmSsx]+|-d[0-9]*|--max-depth=[0-9]+|--(?:human-readable|summarize|total|all|bytes"
               r"|apparent-size)", valued="d", names_only=True, recursive="always"),
    "df": _row(r"-[ahHiklPT]+", names_only=True),
    "cut": _row(r"-[bcdfnsz].*|--(?:delimiter|fields|characters|bytes|output-delimiter)=.*|--complement"
                r"|--only-delimited"),
    "tr": _row(r"-[cCdst]+|--(?:delete|squeeze-repeats|complement)"),
    "diff": _row(r"-[abBdEiNqrsTtuwyZ]+|-[UCW][0-9]+|--(?:brief|unified|recursive|side-by-side"
                 r"|ignore-all-space|ignore-case|ignore-blank-lines)", recursive="option"),
    "cmp": _row(r"-[bls]+"),
    "basename": _row(r"-[az]+|-s.*", names_only=True),
    "dirname": _row(r"-z", names_only=True),
    "realpath": _row(r"-[emqsz]+", names_only=True),
    "readlink": _row(r"-[efmnqsvz]+", names_only=True),
    "true": _row(),
    "false": _row(),
    "test": _row(r"-[abcdefghknoprstuwxzGLNOS]|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)", names_only=True),
    "seq": _row(r"-[fsw].*|-[0-9.]+"),
    "sort": _row(r"-[bcCdfghiMnRrsuVz]*(?:[kt].*)?|--(?:reverse|unique|numeric-sort|human-numeric-sort"
                 r"|version-sort|ignore-case|stable|check)|--(?:key|field-separator)=.*"),
    "grep": _row(_GREP, valued="ABCme", recursive="option", pattern=True),
    "egrep": _row(_GREP, valued="ABCme", recursive="option", pattern=True),
    "fgrep": _row(_GREP, valued="ABCme", recursive="option", pattern=True),
    "rg": _row(r"-[FHINPSUciloqsuvwnx0]*(?:[ABCmgtTe].*)?|--(?:files|files-with-matches|hidden|no-ignore|count"
               r"|ignore-case|line-number|no-heading|fixed-strings|word-regexp|only-matching|smart-case|type-list"
               r"|multiline|stats|json)|--(?:glob|type|type-not|max-count|context|color|sort|max-depth)=.*",
               valued="ABCmgtTe", recursive="always", pattern=True),
    "find": _row(_FIND, names_only=True, recursive="always", folders_first=True),
    "tree": _row(r"-[aAdDfFghipsCnrtuv]+|-[LIP].*|--(?:dirsfirst|noreport|du|prune)", valued="LIP",
                 names_only=True, recursive="always"),
    "nl": _row(r"-[bdfhilnpsvw].*"),
    "tac": _row(r"-[bs].*|-r"),
    **dict.fromkeys(("cksum", "md5sum", "sha1sum", "sha256sum"), _row(r"-[bt]+|--tag")),
    "column": _row(r"-[etxn]+|-[sNoc].*"),
    "comm": _row(r"-[123]+"),
    "join": _row(r"-[12javeoti].*"),
    "paste": _row(r"-[dsz].*"),
    "fold": _row(r"-[bsw]+[0-9]*"),
    "uname": _row(r"-[asnrvmpio]+"),
    "whoami": _row(),
    "id": _row(r"-[Ggnru]+"),
    "nproc": _row(r"--all"),
    "jq": _row(r"-[CMSacejnrRs]+|--(?:raw-output|raw-input|compact-output|slurp|null-input|sort-keys|tab|arg"
               r"|argjson|args|exit-status|join-output)"),
    "hexdump": _row(r"-[Cbcdoxv]+|-[ns][0-9]*"),
    "od": _row(r"-[abcdfilosxv]+|-[AtNjw].*"),
    "strings": _row(r"-[af]+|-[0-9]+|-n[0-9]*|-t[dox]?"),
}  # fmt: skip
"""``git`` is not among them: what a repository's own settings name, it runs."""
