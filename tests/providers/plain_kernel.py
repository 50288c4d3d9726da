"""A kernel in this process, for tests: code runs in a dict, figures become pictures."""

import ast
import base64
import contextlib
import io
import traceback
from typing import Any

from claw_nb.core.messages import Image
from claw_nb.core.protocols import Execution


class PlainKernel:
    def __init__(self, **namespace: Any) -> None:
        self.namespace: dict[str, Any] = namespace
        self.ran: list[str] = []

    async def execute(self, code: str, *, timeout: float | None = None) -> Execution:
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt

        self.ran.append(code)
        out = io.StringIO()
        try:
            body = ast.parse(code).body
            last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
            with contextlib.redirect_stdout(out):
                plt.show = lambda: None
                exec(compile(ast.Module(body, []), "<cell>", "exec"), self.namespace)
                if last is not None:
                    value = eval(
                        compile(ast.Expression(last.value), "<cell>", "eval"), self.namespace
                    )
                    if value is not None:
                        print(repr(value))
        except Exception:  # noqa: BLE001 - as a kernel does
            return Execution(text=out.getvalue(), error=traceback.format_exc())
        finally:
            self.namespace.pop("__builtins__", None)
            images = _figures(plt)
        return Execution(text=out.getvalue(), images=tuple(images))


def _figures(plt: Any) -> list[Image]:
    images = []
    for number in plt.get_fignums():
        data = io.BytesIO()
        plt.figure(number).savefig(data, format="png")
        images.append(Image(data=base64.b64encode(data.getvalue()).decode()))
    plt.close("all")
    return images
