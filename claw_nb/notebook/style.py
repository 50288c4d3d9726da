"""How answers look: Jupyter's own colours in both themes, plain ones where there is no theme."""

from __future__ import annotations

#: Every rule stands below .claw, so that nothing else on the page changes.
STYLE = """
.claw{--claw-line:var(--jp-border-color2,#e0e0e0);--claw-soft:var(--jp-content-font-color2,#616161);
--claw-ground:var(--jp-cell-editor-background,rgba(127,127,127,.09));
--claw-good:var(--jp-success-color1,#2e7d32);
--claw-bad:var(--jp-error-color1,#c62828);--claw-warn:var(--jp-warn-color1,#b26a00);
--claw-live:var(--jp-brand-color1,#1976d2);
--claw-mono:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace);
max-width:60rem;line-height:1.55;overflow-wrap:break-word}
.claw>:first-child{margin-top:0}
.claw .claw-words>:first-child{margin-top:.35em}.claw .claw-words>:last-child{margin-bottom:.35em}
.claw.claw .claw-words pre,.claw.claw .claw-box pre{background:var(--claw-ground);border-radius:4px;
padding:.55em .75em;margin:.35em 0;overflow-x:auto;font-size:.92em;line-height:1.45}
.claw .claw-words pre code{background:none;padding:0}
.claw.claw h1{font-size:1.4em}.claw.claw h2{font-size:1.22em}.claw.claw h3{font-size:1.08em}
.claw.claw :is(h1,h2,h3,h4){margin:.7em 0 .3em;font-weight:600}
.claw details{border:1px solid var(--claw-line);border-radius:5px;margin:.3em 0;padding:0}
.claw summary{cursor:pointer;padding:.3em .65em;font-size:.92em;white-space:nowrap;overflow:hidden;
text-overflow:ellipsis;list-style-position:inside}
.claw summary:focus-visible{outline:2px solid var(--claw-live);outline-offset:-2px;border-radius:5px}
.claw.claw summary code{color:var(--claw-soft);background:none;border:0;font-family:var(--claw-mono);
font-size:.92em;padding:0 .3em}
.claw .claw-mark{display:inline-block;width:1.25em;text-align:center;font-weight:700}
.claw .claw-done .claw-mark{color:var(--claw-good)}
.claw .claw-failed .claw-mark{color:var(--claw-bad)}
.claw .claw-denied .claw-mark,.claw .claw-interrupted .claw-mark,
.claw .claw-asking .claw-mark{color:var(--claw-warn)}
.claw .claw-running .claw-mark{color:var(--claw-live);animation:claw-pulse 1.2s ease-in-out infinite}
@keyframes claw-pulse{50%{opacity:.25}}
@media (prefers-reduced-motion:reduce){.claw .claw-running .claw-mark{animation:none}}
.claw .claw-facts,.claw .claw-label,.claw .claw-remark{color:var(--claw-soft);font-size:.92em}
.claw .claw-box{padding:.1em .75em .45em;border-top:1px solid var(--claw-line)}
.claw .claw-box pre{white-space:pre-wrap;max-height:22rem;overflow-y:auto;
font-family:var(--claw-mono)}
.claw .claw-asked{padding:0;border:0}.claw .claw-asked pre{max-height:32rem}
.claw .claw-label{margin-top:.4em;font-size:.8em;letter-spacing:.04em;text-transform:uppercase}
.claw .claw-thought{font-style:italic}.claw .claw-thought .claw-box{color:var(--claw-soft)}
.claw .claw-footer{color:var(--claw-soft);font-size:.84em;margin-top:.5em;padding-top:.3em;
border-top:1px solid var(--claw-line);font-variant-numeric:tabular-nums}
.claw .claw-footer .claw-ended{color:var(--claw-bad);font-weight:600}
.claw .claw-wait{color:var(--claw-soft)}
.claw .k,.claw .kn,.claw .kc,.claw .kd,.claw .ow{color:var(--jp-mirror-editor-keyword-color,#008000)}
.claw .s,.claw .s1,.claw .s2,.claw .sa,.claw .sd,.claw .se,.claw .si{
color:var(--jp-mirror-editor-string-color,#ba2121)}
.claw .c,.claw .c1,.claw .cm{color:var(--jp-mirror-editor-comment-color,#408080);font-style:italic}
.claw .m,.claw .mi,.claw .mf{color:var(--jp-mirror-editor-number-color,#080)}
.claw .nb,.claw .bp{color:var(--jp-mirror-editor-builtin-color,#008000)}
.claw .nf,.claw .nc{color:var(--jp-mirror-editor-def-color,#00f)}
.claw .gi{color:var(--claw-good)}.claw .gd{color:var(--claw-bad)}.claw .gu{color:var(--claw-soft)}
.claw.claw table{border-collapse:collapse;font-size:.92em;margin:.35em 0}
.claw.claw th,.claw.claw td{padding:.25em .6em;text-align:left;border:0;
border-bottom:1px solid var(--claw-line)}
.claw th{font-weight:600}.claw.claw .claw-number{text-align:right;font-variant-numeric:tabular-nums}
.claw caption{text-align:left;font-weight:600;padding:.2em 0}
.claw .claw-null{color:var(--claw-soft);font-style:italic}
.claw svg{max-width:100%;height:auto;color:inherit}
""".replace("\n", "")


def framed(body: str, *, label: str, busy: bool = False) -> str:
    """A piece of HTML in its frame, named for screen readers, with its look."""
    state = ' aria-busy="true"' if busy else ""
    return f'<div class="claw" role="region" aria-label="{label}"{state}><style>{STYLE}</style>{body}</div>'
